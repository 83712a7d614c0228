package store_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/contextguru/contextguru/store"
)

var (
	keyA = bytes.Repeat([]byte{'a'}, 32)
	keyB = bytes.Repeat([]byte{'b'}, 32)
)

func codec(tb testing.TB, o store.CodecOptions) *store.Codec {
	tb.Helper()
	c, err := store.NewCodec(o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func encode(tb testing.TB, c *store.Codec, name string, value []byte) []byte {
	tb.Helper()
	stored, err := c.Encode(name, 0, value)
	if err != nil {
		tb.Fatal(err)
	}
	return stored
}

func TestCodecFormats(t *testing.T) {
	t.Parallel()
	plain, sealed := codec(t, store.CodecOptions{}), codec(t, store.CodecOptions{EncryptionKeys: [][]byte{keyA}})
	text := []byte(strings.Repeat("PASS: TestSomething (0.01s)\n", 500))
	for _, c := range []struct {
		name   string
		codec  *store.Codec
		value  []byte
		format byte
	}{
		{"short", plain, text[:1023], 1},
		{"long", plain, text, 2},
		{"incompressible", plain, noise(5000), 1},
		{"sealed short", sealed, text[:1023], 3},
		{"sealed long", sealed, text, 4},
		{"sealed incompressible", sealed, noise(5000), 3},
	} {
		stored, err := c.codec.Encode("k", 90*time.Minute, c.value)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if stored[0] != c.format {
			t.Errorf("%s: format %d, want %d", c.name, stored[0], c.format)
		}
		if over := len(stored) - len(c.value); over > 80 {
			t.Errorf("%s: grew by %d bytes", c.name, over)
		}
		got, ttl, err := c.codec.Decode("k", stored)
		if err != nil || !bytes.Equal(got, c.value) || ttl != 90*time.Minute {
			t.Errorf("%s: decoded %d bytes, ttl %v, %v", c.name, len(got), ttl, err)
		}
	}
	if n := len(encode(t, plain, "k", text)); n > len(text)/10 {
		t.Errorf("repetitive text of %d bytes is stored in %d", len(text), n)
	}
}

func TestCodecSealHidesAndBinds(t *testing.T) {
	t.Parallel()
	c := codec(t, store.CodecOptions{EncryptionKeys: [][]byte{keyA}})
	secret := []byte("the password is hunter2")
	stored := encode(t, c, "cg:{a}:o:1", secret)
	if bytes.Contains(stored, secret[4:12]) {
		t.Error("sealed value shows its text")
	}
	plain := encode(t, codec(t, store.CodecOptions{}), "cg:{a}:o:1", secret)
	if bytes.Equal(plain[1:store.HeaderLen], stored[1:store.HeaderLen]) {
		t.Error("the sealed value's digest is the plain SHA-256: it confirms guesses")
	}
	if bytes.Equal(stored, encode(t, c, "cg:{a}:o:1", secret)) {
		t.Error("sealing twice gives the same bytes")
	}
	if _, _, err := c.Decode("cg:{b}:o:1", stored); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("value moved to another key: %v, want ErrCorrupt", err)
	}
	for _, o := range []store.CodecOptions{{}, {EncryptionKeys: [][]byte{keyB}}} {
		if _, _, err := codec(t, o).Decode("cg:{a}:o:1", stored); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("opened with %d other keys: %v, want ErrCorrupt", len(o.EncryptionKeys), err)
		}
	}
}

// TestCodecRotation: every generation of protection is readable, recognised as
// the same value, and marked stale when a write would now protect it better.
func TestCodecRotation(t *testing.T) {
	t.Parallel()
	value := []byte(strings.Repeat("some output\n", 200))
	for _, c := range []struct {
		name       string
		wrote, now [][]byte
		match      store.Match
		readable   bool
	}{
		{"plain stays", nil, nil, store.Same, true},
		{"same key", [][]byte{keyA}, [][]byte{keyA}, store.Same, true},
		{"encryption switched on", nil, [][]byte{keyA}, store.Stale, true},
		{"key added in front", [][]byte{keyA}, [][]byte{keyB, keyA}, store.Stale, true},
		{"key added behind", [][]byte{keyA}, [][]byte{keyA, keyB}, store.Same, true},
		{"key dropped", [][]byte{keyA}, [][]byte{keyB}, store.Differs, false},
		{"encryption switched off", [][]byte{keyA}, nil, store.Differs, false},
	} {
		stored := encode(t, codec(t, store.CodecOptions{EncryptionKeys: c.wrote}), "k", value)
		now := codec(t, store.CodecOptions{EncryptionKeys: c.now})
		if got := now.Compare(stored[:store.HeaderLen], sha256.Sum256(value)); got != c.match {
			t.Errorf("%s: Compare = %v, want %v", c.name, got, c.match)
		}
		if got := now.Compare(stored[:store.HeaderLen], sha256.Sum256(value[1:])); got != store.Differs {
			t.Errorf("%s: Compare with another value = %v, want Differs", c.name, got)
		}
		if got, _, err := now.Decode("k", stored); c.readable != (err == nil) || c.readable && !bytes.Equal(got, value) {
			t.Errorf("%s: Decode: %d bytes, %v", c.name, len(got), err)
		}
	}
}

// TestCodecRefusesBombs: a value that grows beyond the maximum is refused by what
// it would become, not after it became it.
func TestCodecRefusesBombs(t *testing.T) { // not parallel: it measures what is allocated
	const maxValue = 1 << 20
	c := codec(t, store.CodecOptions{MaxValue: maxValue})
	header := encode(t, c, "k", bytes.Repeat([]byte("x"), 2000))[:store.HeaderLen+1]
	for name, stream := range map[string]bool{"size declared": false, "size unknown": true} {
		bomb := append(bytes.Clone(header), zstdOf(t, make([]byte, 200<<20), stream)...)
		if len(bomb) > 64<<10 {
			t.Fatalf("%s: the bomb has %d bytes", name, len(bomb))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := c.Decode("k", bomb)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, store.ErrCorrupt) || !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			t.Errorf("%s: %v, want ErrCorrupt by size", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 16*maxValue {
			t.Errorf("%s: refusing took %d bytes of memory", name, took)
		}
	}
	raw := encode(t, codec(t, store.CodecOptions{}), "k", noise(maxValue+1))
	if _, _, err := c.Decode("k", raw); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("raw value over the maximum: %v, want ErrCorrupt", err)
	}
}

// zstdOf compresses with a small window, with or without the size up front.
func zstdOf(t *testing.T, value []byte, stream bool) []byte {
	t.Helper()
	var out bytes.Buffer
	enc, err := zstd.NewWriter(&out, zstd.WithWindowSize(64<<10), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if !stream {
		return enc.EncodeAll(value, nil)
	}
	for len(value) > 0 {
		n := min(len(value), 1<<20)
		if _, err := enc.Write(value[:n]); err != nil {
			t.Fatal(err)
		}
		value = value[n:]
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func FuzzCodecDecode(f *testing.F) {
	plain, sealed := codec(f, store.CodecOptions{MaxValue: 1 << 16}), codec(f, store.CodecOptions{MaxValue: 1 << 16, EncryptionKeys: [][]byte{keyA}})
	for _, v := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("ab"), 3000)} {
		f.Add(encode(f, plain, "k", v))
		f.Add(encode(f, sealed, "k", v))
	}
	f.Add([]byte("OK"))
	f.Fuzz(func(t *testing.T, stored []byte) {
		for _, c := range []*store.Codec{plain, sealed} {
			value, _, err := c.Decode("k", stored)
			switch {
			case err != nil && !errors.Is(err, store.ErrCorrupt):
				t.Fatalf("fault that is no ErrCorrupt: %v", err)
			case err == nil && c.Compare(stored[:store.HeaderLen], sha256.Sum256(value)) == store.Differs:
				t.Fatalf("decoded a value of %d bytes that its own header denies", len(value))
			}
		}
	})
}

func FuzzCodecRoundTrip(f *testing.F) {
	plain, sealed := codec(f, store.CodecOptions{}), codec(f, store.CodecOptions{EncryptionKeys: [][]byte{keyA}})
	f.Add([]byte("a\x00b"), int64(0))
	f.Add(bytes.Repeat([]byte("\xff\xfe"), 600), int64(time.Hour))
	f.Fuzz(func(t *testing.T, value []byte, ttl int64) {
		own := store.Item{TTL: time.Duration(ttl)}.OwnTTL()
		for _, c := range []*store.Codec{plain, sealed} {
			stored, err := c.Encode("k", own, value)
			if err != nil {
				t.Fatal(err)
			}
			got, gotTTL, err := c.Decode("k", stored)
			if err != nil || !bytes.Equal(got, value) || gotTTL != own {
				t.Fatalf("got %d bytes, ttl %v, %v; want %d bytes, ttl %v", len(got), gotTTL, err, len(value), own)
			}
			if m := c.Compare(stored[:store.HeaderLen], sha256.Sum256(value)); m != store.Same {
				t.Fatalf("Compare with itself: %v", m)
			}
		}
	})
}

func BenchmarkCodec(b *testing.B) {
	c := codec(b, store.CodecOptions{})
	value := []byte(strings.Repeat("ok  \tgithub.com/example/module/package\t0.013s\n", 10<<10/44))
	stored := encode(b, c, "k", value)
	b.Run("encode 10 KB", func(b *testing.B) {
		b.SetBytes(int64(len(value)))
		for b.Loop() {
			encode(b, c, "k", value)
		}
	})
	b.Run("decode 10 KB", func(b *testing.B) {
		b.SetBytes(int64(len(value)))
		for b.Loop() {
			if _, _, err := c.Decode("k", stored); err != nil {
				b.Fatal(err)
			}
		}
	})
}
