package sched

import "testing"

// All of up to 100 nodes are examined, and half or fewer of more nodes, unless the configuration or the only profile sets 100 %.
func TestSamples(t *testing.T) {
	load := func(more string) *Config {
		t.Helper()
		config, err := LoadConfig(ConfigOptions{}, "test.yaml", []byte(head+"\n"+more))
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	for name, test := range map[string]struct {
		config *Config
		nodes  int
		want   bool
	}{
		"100 nodes":                    {load(""), 100, false},
		"101 nodes":                    {load(""), 101, true},
		"5,000 nodes":                  {load(""), 5000, true},
		"adaptive":                     {load("percentageOfNodesToScore: 0"), 101, true},
		"99 %":                         {load("percentageOfNodesToScore: 99"), 101, true},
		"100 %":                        {load("percentageOfNodesToScore: 100"), 5000, false},
		"100 % in the profile":         {load("profiles: [{percentageOfNodesToScore: 100}]"), 101, false},
		"less in the profile":          {load("percentageOfNodesToScore: 100\nprofiles: [{percentageOfNodesToScore: 50}]"), 101, true},
		"less in one profile of two":   {load("percentageOfNodesToScore: 100\nprofiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 50}]"), 101, true},
		"all, by WithPercentageOf...":  {load("profiles: [{percentageOfNodesToScore: 50}]").WithPercentageOfNodesToScore(100), 101, false},
		"half, by WithPercentageOf...": {load("percentageOfNodesToScore: 100").WithPercentageOfNodesToScore(50), 101, true},
	} {
		if got := test.config.Samples(test.nodes); got != test.want {
			t.Errorf("%s: samples %v, want %v", name, got, test.want)
		}
	}
}
