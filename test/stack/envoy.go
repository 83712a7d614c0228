package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/contextguru/contextguru/test/stack/proc"
)

// DefaultEnvoyVersion is the Envoy everything is built for.
const DefaultEnvoyVersion = "1.40.0"

// defaultConcurrency is Envoy's number of workers: more than one, so that what
// only goes wrong between workers shows.
const defaultConcurrency = 2

// MissingError says that a program the stack needs is not installed.
type MissingError struct {
	// Program is what is missing, Cure how to get it.
	Program, Cure string
}

// Error names the program and the cure.
func (e *MissingError) Error() string { return "there is no " + e.Program + ": " + e.Cure }

// FindEnvoy returns the path of the Envoy to use, or a [*MissingError].
func FindEnvoy() (string, error) {
	cure := "run make deps, or set ENVOY_BIN"
	if named := os.Getenv("ENVOY_BIN"); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", &MissingError{"Envoy at ENVOY_BIN=" + named, "name an executable file"}
		}
		return filepath.Abs(path)
	}
	version := os.Getenv("ENVOY_VERSION")
	if version == "" {
		version = DefaultEnvoyVersion
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	for _, candidate := range []string{filepath.Join(root, ".cache", "envoy", version, "envoy"), "envoy"} {
		if path, err := exec.LookPath(candidate); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", &MissingError{"Envoy " + version, cure}
}

// minorOf is the second number of a version such as 1.40.0, 0 when there is none.
func minorOf(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 0
	}
	// What is no number is 0, as documented.
	minor, _ := strconv.Atoi(parts[1])
	return minor
}

// envoyMinor asks an Envoy for its version, before it is started.
func envoyMinor(ctx context.Context, binary string) (int, error) {
	said, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("ask Envoy for its version: %w", err)
	}
	// envoy  version: revision/1.40.0/Clean/RELEASE/BoringSSL
	parts := strings.Split(string(said), "/")
	if len(parts) < 2 {
		return 0, fmt.Errorf("ask Envoy for its version: it says %q", said)
	}
	return minorOf(parts[1]), nil
}

// Envoy is a running Envoy.
type Envoy struct {
	*proc.Process

	config  string // the file it was started with
	admin   string // host:port
	addr    string
	version string
}

// startEnvoy starts Envoy with a configuration and waits until it serves.
func startEnvoy(ctx context.Context, dir string, c *Config, o *options) (*Envoy, error) {
	binary, err := FindEnvoy()
	if err != nil {
		return nil, err
	}
	minor, err := envoyMinor(ctx, binary)
	if err != nil {
		return nil, err
	}
	if minor < routeLimitSince {
		raiseOldLimits(c)
	}
	text, err := c.Bytes()
	if err != nil {
		return nil, err
	}
	e := &Envoy{config: filepath.Join(dir, "envoy.yaml")}
	if err := os.WriteFile(e.config, text, 0o600); err != nil {
		return nil, fmt.Errorf("write Envoy's configuration: %w", err)
	}
	adminFile := filepath.Join(dir, "envoy.admin")
	e.Process, err = proc.Start(proc.Spec{
		Name: "envoy", Path: binary, Log: proc.NewLog(), Env: o.envoyEnv,
		Args: append([]string{
			"-c", e.config,
			// Without hot restart there is no shared memory, so any number of Envoys can run side by side.
			"--disable-hot-restart",
			"--concurrency", strconv.Itoa(o.concurrency),
			"--admin-address-path", adminFile,
			// At level info every start lists hundreds of extensions.
			"--log-level", "warning",
			// The access log otherwise shows up after ten seconds.
			"--file-flush-interval-msec", "50",
		}, o.envoyArgs...),
	})
	if err != nil {
		return nil, err
	}
	if err := proc.Until(ctx, e.Process, func(ctx context.Context) error { return e.ready(ctx, adminFile) }); err != nil {
		return e, fmt.Errorf("envoy does not get ready: %w", err)
	}
	return e, nil
}

// ready fails until every worker accepts connections.
func (e *Envoy) ready(ctx context.Context, adminFile string) error {
	if e.admin == "" {
		address, err := os.ReadFile(adminFile)
		if err != nil {
			return fmt.Errorf("read the admin address: %w", err)
		}
		if _, _, err := net.SplitHostPort(string(address)); err != nil {
			return fmt.Errorf("read the admin address: %w", err)
		}
		e.admin = string(address)
	}
	if _, err := e.Admin(ctx, "/ready"); err != nil {
		return err
	}
	var listeners struct {
		Statuses []struct {
			Address struct {
				Socket struct {
					Address string `json:"address"`
					Port    int    `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	var info struct {
		Version string `json:"version"`
	}
	if err := e.adminJSON(ctx, "/listeners?format=json", &listeners); err != nil {
		return err
	}
	if err := e.adminJSON(ctx, "/server_info", &info); err != nil {
		return err
	}
	if len(listeners.Statuses) == 0 || listeners.Statuses[0].Address.Socket.Port == 0 {
		return errors.New("the listener is not bound")
	}
	bound := listeners.Statuses[0].Address.Socket
	e.addr = net.JoinHostPort(bound.Address, strconv.Itoa(bound.Port))
	// revision/1.40.0/Clean/RELEASE/BoringSSL
	if parts := strings.Split(info.Version, "/"); len(parts) > 1 {
		e.version = parts[1]
	}
	return nil
}

// Addr is the host and port of the listener.
func (e *Envoy) Addr() string { return e.addr }

// URL is the base URL of the listener.
func (e *Envoy) URL() string { return "http://" + e.addr }

// AdminURL is the base URL of the admin port.
func (e *Envoy) AdminURL() string { return "http://" + e.admin }

// Version is Envoy's own word for its version, such as 1.40.0.
func (e *Envoy) Version() string { return e.version }

// Minor is the second number of the version, 0 when it cannot be read.
func (e *Envoy) Minor() int { return minorOf(e.version) }

// ConfigFile is the file Envoy was started with.
func (e *Envoy) ConfigFile() string { return e.config }

// Admin fetches a page of the admin port.
func (e *Envoy) Admin(ctx context.Context, path string) ([]byte, error) {
	return fetch(ctx, "http://"+e.admin+path)
}

func (e *Envoy) adminJSON(ctx context.Context, path string, into any) error {
	page, err := e.Admin(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(page, into); err != nil {
		return fmt.Errorf("read Envoy's %s: %w", path, err)
	}
	return nil
}

// ConfigDump returns the configuration as Envoy understood it, as JSON.
func (e *Envoy) ConfigDump(ctx context.Context) ([]byte, error) { return e.Admin(ctx, "/config_dump") }

// Stats returns every counter and gauge by its full name.
func (e *Envoy) Stats(ctx context.Context) (map[string]int64, error) {
	stats := map[string]int64{}
	for _, kind := range []string{"Counters", "Gauges"} {
		var page struct {
			Stats []struct {
				Name  string `json:"name"`
				Value *int64 `json:"value"`
			} `json:"stats"`
		}
		if err := e.adminJSON(ctx, "/stats?format=json&type="+kind, &page); err != nil {
			return nil, err
		}
		for _, s := range page.Stats {
			if s.Value != nil {
				stats[s.Name] = *s.Value
			}
		}
	}
	return stats, nil
}

// ExtProcStats returns the counters of the service's filter by their last name,
// such as streams_started or failure_mode_allowed.
func (e *Envoy) ExtProcStats(ctx context.Context) (map[string]int64, error) {
	all, err := e.Stats(ctx)
	if err != nil {
		return nil, err
	}
	own := map[string]int64{}
	for name, value := range all {
		if short, ok := strings.CutPrefix(name, "http.llm.ext_proc."+filterName+"."); ok {
			own[short] = value
		}
	}
	return own, nil
}

// fetch gets a page and wants status 200.
func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", url, err)
	}
	req.Close = true // these calls are rare, and a kept connection would delay a shutdown
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		return body, fmt.Errorf("get %s: %s: %.200s", url, resp.Status, body)
	}
	return body, nil
}
