package loop

import (
	"context"

	"github.com/contextguru/contextguru/pipeline/expand/hidden"
	"github.com/contextguru/contextguru/pipeline/wire"
)

// Keep returns what an [Exchange] records with: a keeper, for the request whose
// answer stands at a place. Tenants are the names of its owner.
func Keep(k *hidden.Keeper, d wire.Dialect, tenants []string, at hidden.Place) func(context.Context, Record) error {
	return func(ctx context.Context, r Record) error {
		x := hidden.Exchange{Dialect: d, Tenants: tenants, Place: at, Last: r.Last, Beside: r.Beside}
		for _, h := range r.Hidden {
			x.Hidden = append(x.Hidden, hidden.Round(h))
		}
		return k.Record(ctx, x)
	}
}
