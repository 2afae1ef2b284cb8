package example

import (
	"testing"

	"rocketspec/vectors"
)

// wrongHash hashes the bytes of the key. It fails, and names IDX-HASH-1. Only key.hash is offered.
type wrongHash struct{ vectors.NotOffered }

func (wrongHash) KeyHash(key string) (int32, error) {
	var hash int32
	for _, one := range []byte(key) {
		hash = 31*hash + int32(one)
	}
	if hash < 0 {
		hash = -hash
	}
	return max(0, hash), nil
}

func TestHash(t *testing.T) {
	vectors.Run(t, func() vectors.IndexFile { return wrongHash{} })
}
