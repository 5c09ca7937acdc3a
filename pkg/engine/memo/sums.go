package memo

// sums records when the sum of each topology domain last changed, and when a plugin was last asked about nodes in these domains. Nodes that
// are in the same domains for all keys are one group, and the plugin answers the same about all of them. For example, with the keys zone
// and rack, 3 zones of 4 racks make 12 groups. If the sum of one zone changes, the plugin is asked about 4 groups again, one node each.
type sums struct {
	clock  int32 // counts the changes, starting at 1
	keys   []keySums
	groups []int32 // by slot: the node's group
	asked  []int32 // by group: the clock when the plugin was last asked; 0: never
}

// keySums are the domains of one topology key, with the times of their changes.
type keySums struct {
	*domains
	key     string
	changed []int32 // by domain: the clock after its last change
}

// grouped identifies a group after a further key splits the groups: the old group, and the place by that key.
type grouped struct {
	group int32
	place int
}

// newSums returns sums for the topology keys, without any answer.
func newSums(m *Memo, keys []string) sums {
	s := sums{clock: 1, groups: make([]int32, len(m.infos)), asked: make([]int32, len(m.infos))}
	for _, key := range keys {
		s.keyOf(m, key)
	}
	return s
}

// fresh returns the node's group, and whether the last answer about the group still holds.
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

// change records that the sum of the node's domain has changed.
func (s *sums) change(m *Memo, topologyKey string, slot int) {
	key := s.keyOf(m, topologyKey)
	s.clock++
	key.changed[key.number[slot]] = s.clock
}

// keyOf returns the sums of the key. A new key may split the groups, so all groups are renumbered and all answers dropped.
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
