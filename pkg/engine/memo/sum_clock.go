package memo

// sumClock records when the sum of each topology domain last changed, and when a plugin was last asked about nodes in these domains. Nodes that
// are in the same domains for all keys are one group, and the plugin answers the same about all of them. For example, with the keys zone
// and rack, 3 zones of 4 racks make 12 groups. If the sum of one zone changes, the plugin is asked about 4 groups again, one node each.
type sumClock struct {
	clock   int32 // counts the changes, starting at 1
	keys    []keyClock
	groups  []int32 // by slot: the node's group
	askedAt []int32 // by group: the clock when the plugin was last asked; 0: never
}

// keyClock are the domains of one topology key, with the times of their changes.
type keyClock struct {
	*domains
	key       string
	changedAt []int32 // by domain: the clock after its last change
}

// groupPlace identifies a group after a further key splits the groups: the old group, and the place by that key.
type groupPlace struct {
	group int32
	place int
}

// newSumClock returns sums for the topology keys, without any answer.
func newSumClock(m *Memo, keys []string) sumClock {
	s := sumClock{clock: 1, groups: make([]int32, len(m.infos)), askedAt: make([]int32, len(m.infos))}
	for _, key := range keys {
		s.clockOfKey(m, key)
	}
	return s
}

// lookUpGroup returns the node's group, and whether the last answer about the group still holds.
func (s *sumClock) lookUpGroup(slot int) (int32, bool) {
	group := s.groups[slot]
	asked := s.askedAt[group]
	for i := range s.keys {
		if key := &s.keys[i]; key.changedAt[key.number[slot]] > asked {
			return group, false
		}
	}
	return group, asked > 0
}

// recordChange records that the sum of the node's domain has changed.
func (s *sumClock) recordChange(m *Memo, topologyKey string, slot int) {
	key := s.clockOfKey(m, topologyKey)
	s.clock++
	key.changedAt[key.number[slot]] = s.clock
}

// clockOfKey returns the sums of the key. A new key may split the groups, so all groups are renumbered and all answers dropped.
func (s *sumClock) clockOfKey(m *Memo, topologyKey string) *keyClock {
	for i := range s.keys {
		if s.keys[i].key == topologyKey {
			return &s.keys[i]
		}
	}
	domains := m.domainsOf(topologyKey)
	numbers := map[groupPlace]int32{}
	for slot, group := range s.groups {
		at := groupPlace{group, domains.placeOf(slot)}
		number, known := numbers[at]
		if !known {
			number = int32(len(numbers))
			numbers[at] = number
		}
		s.groups[slot] = number
	}
	clear(s.askedAt)
	s.keys = append(s.keys, keyClock{domains: domains, key: topologyKey, changedAt: make([]int32, len(domains.values))})
	return &s.keys[len(s.keys)-1]
}
