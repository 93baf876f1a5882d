package eventstore

// Waiting is how many calls of Append wait for a commit to begin.
func Waiting(s *Store) int {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	return len(s.group.waiting)
}
