package backfill

// A rowSet is a set of row numbers, a bit each.
type rowSet struct {
	words []uint64
	count int64
}

func (s *rowSet) has(number int64) bool {
	word := number / 64
	return word < int64(len(s.words)) && s.words[word]&(1<<(number%64)) != 0
}

// add reports whether the number is new.
func (s *rowSet) add(number int64) bool {
	if s.has(number) {
		return false
	}
	if missing := number/64 + 1 - int64(len(s.words)); missing > 0 {
		s.words = append(s.words, make([]uint64, missing)...)
	}
	s.words[number/64] |= 1 << (number % 64)
	s.count++
	return true
}
