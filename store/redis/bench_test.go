package redis

import (
	"fmt"
	"testing"

	"github.com/contextguru/contextguru/store"
	"github.com/contextguru/contextguru/store/storetest"
)

// BenchmarkPutAll is a request with 20 originals of 10 KB, on a real server over
// a unix socket and over TCP.
func BenchmarkPutAll(b *testing.B) {
	server := storetest.StartRedis(b, storetest.WithTCP())
	for name, addr := range map[string]string{"unix": server.Socket, "tcp": server.Addr} {
		items := batch(20, 10<<10)
		b.Run(name+"/known", func(b *testing.B) {
			s := open(b, patient(Options{Addrs: []string{addr}}))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.PutAll(b.Context(), items); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/unknown", func(b *testing.B) {
			s := open(b, patient(Options{Addrs: []string{addr}}))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				for i := range items {
					items[i].Key.ID = fmt.Sprint(name, n%1000, ".", n/1000, ".", i)
				}
				if err := s.PutAll(b.Context(), items); err != nil {
					b.Fatal(err)
				}
				if n%1000 == 0 {
					b.StopTimer()
					if err := s.client.FlushDB(b.Context()).Err(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkPutAllHistory is the steady state of a long conversation: 200
// originals, all known, none of them loaded.
func BenchmarkPutAllHistory(b *testing.B) {
	server := storetest.StartRedis(b)
	s := open(b, patient(Options{Addrs: []string{server.Socket}}))
	items := batch(200, 10<<10)
	if err := s.PutAll(b.Context(), items); err != nil {
		b.Fatal(err)
	}
	for i, it := range items {
		items[i] = store.Item{Key: it.Key, Sum: it.Digest(), Load: func() ([]byte, error) { return it.Value, nil }}
	}
	if err := s.PutAll(b.Context(), items); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.PutAll(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	server := storetest.StartRedis(b)
	s := open(b, patient(Options{Addrs: []string{server.Socket}}))
	items := batch(1, 10<<10)
	if err := s.PutAll(b.Context(), items); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(b.Context(), items[0].Key); err != nil {
			b.Fatal(err)
		}
	}
}
