package memo

// sums say when the sums of domains have changed, and when a plugin was asked about nodes whose answer follows from those. Nodes that are in
// the same domains are a group and have the same answer.
type sums struct {
	clock  int32 // counts the changes, from 1
	keys   []keySums
	groups []int32 // by slot
	asked  []int32 // by group: the clock when the plugin was asked; 0: never
}

type keySums struct {
	*domains
	key     string
	changed []int32 // by domain: the clock after its last change
}

// grouped is a group so far, and a place by a further key.
type grouped struct {
	group int32
	place int
}

// newSums returns sums by these topology keys, whose answers are all unknown.
func newSums(m *Memo, keys []string) sums {
	s := sums{clock: 1, groups: make([]int32, len(m.infos)), asked: make([]int32, len(m.infos))}
	for _, key := range keys {
		s.keyOf(m, key)
	}
	return s
}

// fresh returns the node's group, and whether the last answer about it holds.
func (s *sums) fresh(slot int) (int32, bool) {
	group := s.groups[slot]
	asked := s.asked[group]
	for i := range s.keys {
		if key := &s.keys[i]; key.changed[key.number[slot]] > asked {
			return group, false
		}
	}
	return group, asked > 0
}

// change notes that the sum of the node's domain has changed.
func (s *sums) change(m *Memo, topologyKey string, slot int) {
	key := s.keyOf(m, topologyKey)
	s.clock++
	key.changed[key.number[slot]] = s.clock
}

// keyOf returns the key's sums. With a new key, nodes of a group may be in different domains, and the groups are made anew.
func (s *sums) keyOf(m *Memo, topologyKey string) *keySums {
	for i := range s.keys {
		if s.keys[i].key == topologyKey {
			return &s.keys[i]
		}
	}
	domains := m.domainsOf(topologyKey)
	numbers := map[grouped]int32{}
	for slot, group := range s.groups {
		at := grouped{group, domains.placeOf(slot)}
		number, known := numbers[at]
		if !known {
			number = int32(len(numbers))
			numbers[at] = number
		}
		s.groups[slot] = number
	}
	clear(s.asked)
	s.keys = append(s.keys, keySums{domains: domains, key: topologyKey, changed: make([]int32, len(domains.values))})
	return &s.keys[len(s.keys)-1]
}
