package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// paused returns an error while a thread of the process is not stopped.
func paused(pid int) error {
	stats, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil {
		return fmt.Errorf("list threads of process %d: %w", pid, err)
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread ended meanwhile
		}
		if err != nil {
			return fmt.Errorf("read thread state: %w", err)
		}
		// The state follows the name, which stands in parentheses and may hold any byte.
		if state := stat[bytes.LastIndexByte(stat, ')')+1:]; !bytes.HasPrefix(state, []byte(" T")) {
			return fmt.Errorf("process %d still runs", pid)
		}
	}
	return nil
}
