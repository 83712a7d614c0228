package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/contextguru/contextguru/store"
)

// Inspect implements [store.Inspector] by INFO, which managed servers allow
// where they refuse CONFIG. On a cluster every master is asked. Facts a server
// does not tell are not judged.
func (s *Store) Inspect(ctx context.Context) ([]store.Warning, error) {
	ctx, cancel, err := s.begin(ctx, s.o.GetTimeout)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	defer cancel()

	var infos []info
	err = s.breaker.do(ctx, func(ctx context.Context) error {
		var err error
		infos, err = s.infos(ctx)
		return classify(ctx, err)
	})
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	var warnings []store.Warning
	for _, in := range infos {
		for _, w := range in.judge(s.o.Cluster) {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	return warnings, nil
}

func (s *Store) infos(ctx context.Context) ([]info, error) {
	cluster, ok := s.client.(*goredis.ClusterClient)
	if !ok {
		text, err := s.client.Info(ctx).Result()
		return []info{parseInfo(text)}, err
	}
	var mu sync.Mutex
	var infos []info
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
		text, err := node.Info(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		infos = append(infos, parseInfo(text))
		return err
	})
	return infos, err
}

// info is what a server tells about itself.
type info map[string]string

func parseInfo(text string) info {
	in := info{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(k, "#") {
			in[k] = v
		}
	}
	return in
}

// judge says what the facts mean for values that must outlive a conversation.
func (in info) judge(cluster bool) []store.Warning {
	var ws []store.Warning
	warn := func(serious bool, code, text, cure string) {
		ws = append(ws, store.Warning{Code: code, Serious: serious, Text: text, Cure: cure})
	}
	if v := in["redis_version"]; v != "" && in["valkey_version"] == "" && older(v, 6, 2) {
		warn(true, "redis_too_old", "server version "+v+" has no GETEX", "use Redis 6.2 or later, or Valkey")
	}
	limit, policy := in["maxmemory"], in["maxmemory_policy"]
	switch {
	case strings.HasPrefix(policy, "allkeys-"):
		warn(true, "eviction_drops_live_values", "maxmemory-policy is "+policy+": a full server drops values that are in use",
			"set maxmemory-policy noeviction and size maxmemory for a TTL of traffic")
	case strings.HasPrefix(policy, "volatile-"):
		warn(true, "eviction_drops_live_values", "maxmemory-policy is "+policy+": every value here has a TTL, so a full server drops values that are in use",
			"set maxmemory-policy noeviction and size maxmemory for a TTL of traffic")
	}
	if limit == "0" {
		warn(false, "no_memory_limit", "maxmemory is 0: the server grows until its host stops it",
			"set maxmemory below what the host or container has")
	}
	if in["role"] == "slave" {
		warn(true, "read_only_replica", "the address leads to a replica, which takes no writes",
			"give the master's address, or the sentinels' with the master's name")
	}
	if in["cluster_enabled"] == "1" && !cluster {
		warn(true, "cluster_not_declared", "the server is part of a cluster, but the store is not told so", "set cluster")
	}
	if in["aof_enabled"] == "0" && in["rdb_last_save_time"] != "" {
		warn(false, "no_append_only_file", "appendonly is no: a restart of the server loses the values since its last snapshot, if there is one",
			"set appendonly yes unless a replica takes over")
	}
	return ws
}

// older reports whether the version is before major.minor; what does not parse is not.
func older(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	ma, err1 := strconv.Atoi(parts[0])
	mi, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return false
	}
	return ma < major || ma == major && mi < minor
}
