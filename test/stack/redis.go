package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/contextguru/contextguru/test/stack/proc"
)

// RedisOptions configures a Redis server.
type RedisOptions struct {
	// Socket makes it listen on a unix socket only.
	Socket bool
	// AppendOnly makes every acknowledged write survive a kill.
	AppendOnly bool
	// MaxMemory, such as 8mb, makes writes beyond it fail; empty is no bound.
	MaxMemory string
	// Args are further arguments, such as --requirepass and a password.
	Args []string
}

// Redis is a real Redis server that can be killed, stalled and started again.
type Redis struct {
	path   string
	addr   string
	args   []string
	log    *proc.Log
	client *goredis.Client

	mu sync.Mutex
	p  *proc.Process
}

// FindRedis returns the path of redis-server, or a [*MissingError].
func FindRedis() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", &MissingError{"redis-server", "run make deps, or install redis"}
	}
	return path, nil
}

// StartRedis starts a Redis server with its data in dir and waits until it answers.
func StartRedis(ctx context.Context, dir string, o RedisOptions) (*Redis, error) {
	path, err := FindRedis()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "redis")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for redis: %w", err)
	}
	r := &Redis{path: path, log: proc.NewLog(), addr: filepath.Join(dir, "redis.sock")}
	network := "unix"
	if o.Socket {
		r.args = []string{"--port", "0", "--unixsocket", r.addr, "--unixsocketperm", "700"}
	} else {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		network, r.addr = "tcp", loopback(port)
		r.args = []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port)}
	}
	r.args = append(r.args, "--dir", data, "--save", "", "--appendonly", yesNo(o.AppendOnly), "--appendfsync", "always")
	if o.MaxMemory != "" {
		r.args = append(r.args, "--maxmemory", o.MaxMemory, "--maxmemory-policy", "noeviction")
	}
	r.args = append(r.args, o.Args...)
	// Every command stands for itself: nothing may hide that the server was away.
	r.client = goredis.NewClient(&goredis.Options{
		Network: network, Addr: r.addr, Password: password(o.Args), MaxRetries: -1, ContextTimeoutEnabled: true,
	})
	return r, r.Start(ctx)
}

// password finds the password among a server's arguments.
func password(args []string) string {
	for i := range len(args) - 1 {
		if args[i] == "--requirepass" {
			return args[i+1]
		}
	}
	return ""
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Start starts the server again after [Redis.Kill], on the same address.
func (r *Redis) Start(ctx context.Context) error {
	p, err := proc.Start(proc.Spec{Name: "redis", Path: r.path, Args: r.args, Log: r.log})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.p = p
	r.mu.Unlock()
	err = proc.Until(ctx, p, func(ctx context.Context) error { return r.client.Ping(ctx).Err() })
	if err != nil {
		return fmt.Errorf("redis does not get ready: %w", err)
	}
	return nil
}

// Addr is host:port, or the path of the unix socket.
func (r *Redis) Addr() string { return r.addr }

// Client returns a client for looking at what is stored.
func (r *Redis) Client() *goredis.Client { return r.client }

// Log returns what all runs of the server printed.
func (r *Redis) Log() *proc.Log { return r.log }

// Process is the current run.
func (r *Redis) Process() *proc.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.p
}

// Kill ends the server at once. Without AppendOnly all it held is lost.
func (r *Redis) Kill() error { return r.Process().Kill() }

// Restart kills the server and starts it again.
func (r *Redis) Restart(ctx context.Context) error {
	if err := r.Kill(); err != nil {
		return err
	}
	return r.Start(ctx)
}

// Stall stops the server without closing its connections: nothing is answered
// and new connections are accepted by the kernel alone.
func (r *Redis) Stall(ctx context.Context) error { return r.Process().Pause(ctx) }

// Resume lets a stalled server go on.
func (r *Redis) Resume() error { return r.Process().Resume() }

// Flush removes every key.
func (r *Redis) Flush(ctx context.Context) error {
	if err := r.client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("flush redis: %w", err)
	}
	return nil
}

// Keys returns the keys that match a pattern such as cg:*.
func (r *Redis) Keys(ctx context.Context, pattern string) ([]string, error) {
	var keys []string
	scan := r.client.Scan(ctx, 0, pattern, 1000).Iterator()
	for scan.Next(ctx) {
		keys = append(keys, scan.Val())
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("list redis keys: %w", err)
	}
	return keys, nil
}

// Commands returns how often a command, such as set or expire, was called.
func (r *Redis) Commands(ctx context.Context, command string) (int64, error) {
	info, err := r.client.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, fmt.Errorf("read redis statistics: %w", err)
	}
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_"+command+":calls="); ok {
			calls, _, _ := strings.Cut(rest, ",")
			n, err := strconv.ParseInt(calls, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read redis statistics: %w", err)
			}
			return n, nil
		}
	}
	return 0, nil
}

// Close ends the server and the client.
func (r *Redis) Close() error {
	err := r.client.Close()
	if p := r.Process(); p != nil {
		if killed := p.Kill(); err == nil {
			err = killed
		}
	}
	return err
}
