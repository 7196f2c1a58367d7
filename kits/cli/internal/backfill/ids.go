package backfill

import "crypto/sha256"

// idsMax bounds the memory in which ids are looked for a second time, to some 50 MB.
// A repeat among later rows is found by the service, as a duplicate.
const idsMax = 1_000_000

// An idSet finds rows that have the id of an earlier one. It keeps 128 bits of each
// id's SHA-256: to take two ids for one would leave a lead out.
type idSet struct{ lines map[[16]byte]int64 }

// add gives the line at which an id came before, 0 when it is new.
func (s *idSet) add(id string, line int64) (first int64) {
	sum := sha256.Sum256([]byte(id))
	key := [16]byte(sum[:16])
	if first, ok := s.lines[key]; ok {
		return first
	}
	if s.lines == nil {
		s.lines = map[[16]byte]int64{}
	}
	if len(s.lines) < idsMax {
		s.lines[key] = line
	}
	return 0
}
