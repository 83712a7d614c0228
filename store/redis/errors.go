package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	goredis "github.com/redis/go-redis/v9"

	"github.com/contextguru/contextguru/store"
)

// classify turns an error of the client into one of the store's. The text names
// the cause; it holds no value and no credential.
func classify(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, goredis.ErrClosed):
		return store.ErrClosed
	case goredis.IsOOMError(err):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case goredis.HasErrorPrefix(err, "WRONGTYPE"):
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		// The socket's deadline is the context's; say which of the two it was.
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, ctx.Err(), err)
	case isTimeout(err) && !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, context.DeadlineExceeded, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &ne) && ne.Timeout()
}

// answered reports whether the server itself spoke and can serve some calls: a
// full or read-only one still reads. Replies of a server that can serve none
// count as failures, like silence.
func answered(err error) bool {
	if _, ok := errors.AsType[goredis.Error](err); !ok {
		return errors.Is(err, goredis.Nil)
	}
	for _, prefix := range []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "NOAUTH", "WRONGPASS", "max number of clients"} {
		if goredis.HasErrorPrefix(err, prefix) {
			return false
		}
	}
	return true
}

// writeRefused reports whether the server refuses writes but may still read:
// a replica, a master whose snapshots fail, a master without enough replicas.
func writeRefused(err error) bool {
	return goredis.IsReadOnlyError(err) || goredis.IsNoReplicasError(err) || goredis.HasErrorPrefix(err, "MISCONF")
}
