package hidden

import (
	"bytes"
	"testing"
)

func FuzzDecode(f *testing.F) {
	r := record{
		rounds: []hiddenRound{{exchange: []byte("{}"), length: 3, sum: sumOf("abc"), signatures: [][16]byte{digest("s")}, others: 1}},
		beside: []besideCall{{1, []byte("{}"), []byte("[]")}},
	}
	f.Add(r.encode())
	f.Add([]byte{1, 0, 0})
	f.Add([]byte{1, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(r.encode())
		if err != nil || !bytes.Equal(again.encode(), r.encode()) {
			t.Errorf("%x became %x, %v", data, r.encode(), err)
		}
	})
}
