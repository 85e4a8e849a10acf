package ndjson

import (
	"math/bits"
	"sync"
)

// pools hold buffers above firstBuffer that no Reader uses, by the power of two that is
// their size: a stream of long lines would else allocate, and clear, one for each line.
// What stays unused the garbage collector takes.
var pools [32]sync.Pool

// buffer returns one of n bytes, with anything in it.
func buffer(n int) []byte {
	if pool := poolOf(n); pool != nil {
		if b, ok := pool.Get().(*[]byte); ok {
			return *b
		}
	}
	return make([]byte, n)
}

// letGo takes a buffer that no line refers to any more.
func letGo(b []byte) {
	if pool := poolOf(len(b)); pool != nil {
		pool.Put(&b)
	}
}

// poolOf returns the pool of buffers of n bytes, nil where there is none.
func poolOf(n int) *sync.Pool {
	if n <= firstBuffer || n&(n-1) != 0 || bits.Len(uint(n)) >= len(pools) {
		return nil
	}
	return &pools[bits.Len(uint(n))]
}
