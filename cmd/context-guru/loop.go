package main

import (
	"fmt"

	"github.com/contextguru/contextguru/cmd/context-guru/internal/config"
	"github.com/contextguru/contextguru/extproc"
	"github.com/contextguru/contextguru/pipeline/expand"
	"github.com/contextguru/contextguru/pipeline/expand/hop"
	"github.com/contextguru/contextguru/pipeline/expand/loop"
	"github.com/contextguru/contextguru/pipeline/expand/splice"
	"github.com/contextguru/contextguru/pipeline/expand/upstream"
)

// loop builds what answers the model's calls, nil when somebody else does.
func (s *service) loop(tenants expand.TenantOf) (*extproc.Loop, error) {
	x := &s.c.Expand
	if x.Resolver != config.ResolverLoop {
		return nil, nil //nolint:nilnil // nobody asked for one
	}
	signers, certificate, err := s.c.GatewayTLS()
	if err != nil {
		return nil, fmt.Errorf("expand.gateway_tls: %w", err)
	}
	signer := &hop.Signer{Keys: s.engine.keys}
	client, err := upstream.New(upstream.Config{
		URL: x.GatewayURL, HTTP2: x.GatewayHTTP2, CA: signers, ServerName: x.GatewayTLS.ServerName, Certificate: certificate, Hop: signer,
	})
	if err != nil {
		return nil, fmt.Errorf("expand.gateway_url: %w", err)
	}
	return &extproc.Loop{
		Driver: loop.New(loop.Config{
			Keys: s.engine.keys, Stored: expand.Stored{Store: s.engine.store}, Sender: client,
			Rounds: x.Rounds, Calls: x.Calls, Window: int(x.WindowBytes), MaxBody: int(s.c.Limits.BodyBytes),
			Time: x.Timeout.Std(), KeepAlive: x.KeepAlive.Std(), Limits: splice.Limits{Held: int(x.HeldBytes)},
		}),
		Hop: signer, Hidden: s.engine.hidden, MaxKept: x.InFlightBytes, Tenants: tenants.FromGateway,
	}, nil
}
