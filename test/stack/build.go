package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

const module = "module github.com/contextguru/contextguru\n"

// Root is the top of this repository, found upwards from the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), module) {
			return dir, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find the repository: %w", err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the repository: the working directory is not inside it")
		}
		dir = parent
	}
}

// built builds the service once per process and race mode.
var built = [2]func() (string, error){ //nolint:gochecknoglobals // what is built is the same for the whole process
	sync.OnceValues(func() (string, error) { return build("context-guru") }),
	sync.OnceValues(func() (string, error) { return build("context-guru-race", "-race") }),
}

// Build builds the service, once per process, and returns the path of the
// program. It lies in the repository's ignored .cache, where an unchanged one is
// found again without linking. CONTEXT_GURU_BIN names a ready one instead.
func Build(race bool) (string, error) {
	if named := os.Getenv("CONTEXT_GURU_BIN"); named != "" {
		return filepath.Abs(named)
	}
	if race {
		return built[1]()
	}
	return built[0]()
}

func build(name string, flags ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	out := filepath.Join(root, ".cache", "bin", name)
	args := append(append([]string{"build"}, flags...), "-o", out, "./cmd/context-guru")
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said)
	}
	return out, nil
}

// The ports that freePort draws from lie below those the kernel hands out by
// itself (from 32768 on Linux, from 49152 elsewhere): neither a listener on port 0
// nor an outgoing connection ever takes one of them.
const (
	firstPort = 10_000
	ports     = 22_000
)

// freePort finds a port nobody listens on. It stays free, also between two runs of
// the program it is meant for, unless another stack draws the same by chance.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := firstPort + rand.IntN(ports)
		var ln net.Listener
		if ln, err = net.Listen("tcp", loopback(port)); err == nil {
			return port, ln.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
