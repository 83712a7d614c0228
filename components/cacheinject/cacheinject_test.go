package cacheinject_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/contextguru/contextguru/components/cacheinject"
	"github.com/contextguru/contextguru/pipeline"
	"github.com/contextguru/contextguru/pipeline/pipelinetest/requesttest"
)

func TestConform(t *testing.T) {
	t.Parallel()
	requesttest.Conform(t, cacheinject.Spec(), "ttl: 1h")
}

func TestGolden(t *testing.T) {
	t.Parallel()
	requesttest.Golden(t, cacheinject.Spec())
}

func TestBadTTL(t *testing.T) {
	t.Parallel()
	for _, ttl := range []string{"", "10m", "3600"} {
		_, err := cacheinject.Spec().Build(func(into any) error { return json.Unmarshal(fmt.Appendf(nil, `{"ttl":%q}`, ttl), into) }, pipeline.Deps{})
		if err == nil || !strings.Contains(err.Error(), "5m or 1h") {
			t.Errorf("ttl %q: %v", ttl, err)
		}
	}
}
