package tokens

// placeBits is the size of a place in a piece; with a rank it fits 32 bits.
const placeBits = 10

// merger holds the working arrays of a merge: by part, the rank of its bytes
// joined with those of the next part, and its neighbours.
type merger struct {
	rank [maxPiece + 1]uint32
	prev [maxPiece + 1]uint16
	next [maxPiece + 1]uint16
	heap [2 * maxPiece]uint32 // rank above place, placeBits for the latter
}

// merge returns the number of tokens in t[p:e], at most maxPiece bytes:
// starting from single bytes it joins, again and again, the two neighbours
// whose joined bytes have the lowest rank, the leftmost of equals.
//
// The parts are a linked list, named by where they start, and the possible
// joins a heap ordered by rank, then place. A join that is no longer possible
// stays in the heap until it comes up: it is known by a rank that its part no
// longer has, and a part never gets a rank back, since its bytes only grow.
func (m *merger) merge(v *vocab, t []byte, p, e int) int {
	n := e - p
	heap := m.heap[:0]
	for i := range n {
		m.prev[i], m.next[i] = uint16(i-1), uint16(i+1)
		m.rank[i] = noRank
		if i == n-1 {
			break
		}
		if r := v.pair[int(t[p+i])<<8|int(t[p+i+1])]; r != noRank {
			m.rank[i] = r
			heap = append(heap, r<<placeBits|uint32(i))
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	parts := n
	for len(heap) > 0 {
		top := heap[0]
		last := len(heap) - 1
		heap[0] = heap[last]
		heap = heap[:last]
		siftDown(heap, 0)
		i := int(top % maxPiece)
		if m.rank[i] != top>>placeBits {
			continue
		}
		gone := int(m.next[i])
		after := int(m.next[gone])
		m.rank[gone] = noRank
		m.next[i] = uint16(after)
		parts--
		if after < n {
			m.prev[after] = uint16(i)
			heap = m.offer(v, heap, t, p, i)
		}
		if i > 0 {
			heap = m.offer(v, heap, t, p, int(m.prev[i]))
		}
	}
	return parts
}

// offer puts the join of part i with the next one into the heap, if it is a
// token. Every join takes one entry out and puts at most two in, so that the
// heap never outgrows its array.
func (m *merger) offer(v *vocab, heap []uint32, t []byte, p, i int) []uint32 {
	r := v.rank(t, p+i, p+int(m.next[m.next[i]]))
	m.rank[i] = r
	if r == noRank {
		return heap
	}
	heap = append(heap, r<<placeBits|uint32(i))
	for c := len(heap) - 1; c > 0; {
		up := (c - 1) / 2
		if heap[up] <= heap[c] {
			break
		}
		heap[up], heap[c] = heap[c], heap[up]
		c = up
	}
	return heap
}

// siftDown restores the heap order below i.
func siftDown(heap []uint32, i int) {
	for {
		c := 2*i + 1
		if c >= len(heap) {
			return
		}
		if c+1 < len(heap) && heap[c+1] < heap[c] {
			c++
		}
		if heap[i] <= heap[c] {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}
