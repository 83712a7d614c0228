package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/contextguru/contextguru/store/storetest"
)

// TestMain lets scripts run this very program as context-guru.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"context-guru": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true})
}

// TestRedisScripts runs the scripts that need a server; they find its socket in
// $REDIS. It may drop what it holds, which is what check has to notice.
func TestRedisScripts(t *testing.T) {
	t.Parallel()
	server := storetest.StartRedis(t, storetest.WithArgs("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"))
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/redis",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("REDIS", server.Socket)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"envsubst": envsubst},
	})
}

// envsubst replaces $REDIS in files of the script.
func envsubst(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: envsubst FILE...")
	}
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$REDIS", ts.Getenv("REDIS"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1025: "1025 bytes", 32 << 20: "32 MiB", 3 << 30: "3 GiB", 5000 << 30: "5000 GiB", 1536 << 10: "1536 KiB",
	} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}

// Every default has to be right with the components there are.
func TestDefaultsAreSound(t *testing.T) {
	t.Parallel()
	c, err := loadConfig("")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(c.Steps()), len(c.Pipeline); got != want || want == 0 {
		t.Errorf("%d components of %d in the default pipeline were built", got, want)
	}
}
