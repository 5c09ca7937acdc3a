package main

import (
	"time"

	"k8s.io/utils/clock"
)

// still is Karpenter's clock while it decides: logical time stands, who sleeps wakes at once, and no timer ever fires.
type still struct {
	clock.Clock // nil: a method that Karpenter does not call panics
	now         time.Time
}

func (s *still) Now() time.Time                  { return s.now }
func (s *still) Since(t time.Time) time.Duration { return s.now.Sub(t) }
func (s *still) Sleep(time.Duration)             {}
func (s *still) NewTimer(time.Duration) clock.Timer {
	return never{}
}

type never struct{}

func (never) C() <-chan time.Time      { return nil }
func (never) Stop() bool               { return true }
func (never) Reset(time.Duration) bool { return true }
