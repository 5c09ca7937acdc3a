package command

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Proof are the flags that prove a report: they run its claims.
type Proof struct {
	prove bool
	file  string
}

// Register adds the flags.
func (p *Proof) Register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.prove, "prove", false, "run what the answer says, each claim in a cluster of its own, and say whether it holds; exit with 1 if not")
	output.FileVar(cmd, &p.file, "proof", "", "write the input and the claims to this scenario `FILE`, which simulate test runs; implies --prove")
}

// Runs reports whether the claims are to be run.
func (p *Proof) Runs() bool { return p.prove || p.file != "" }

// Requested reports whether somebody asks for the claims, to run them or to receive them.
func (p *Proof) Requested(c *Call) bool { return p.Runs() || c.Receive != nil }

// Check rejects standard output.
func (p *Proof) Check(c *Call) error {
	if p.file == manifest.Stdin {
		return c.Usage("--proof: standard output holds the report; name a file")
	}
	return nil
}

// Prove runs the claims after the last step of the scenario that arguments and flags name, and adds the results to the head of the report. With
// --proof, it writes the claims to the file and runs them as read back from there.
func (p *Proof) Prove(c *Call, s *scenario.Scenario, scenarios []string, claims []claim.Claim, head *report.Head) error {
	if !p.Requested(c) {
		return nil
	}
	claims = claim.MakeUnique(claims)
	if c.Receive != nil && len(claims) > 0 {
		file, err := p.scenarioFile(c, s, scenarios, claims, receivedProof)
		if err == nil {
			c.proof, err = encodeScenario(proofComment, file)
		}
		c.noProof = err
	}
	if !p.Runs() {
		return nil
	}
	count := c.Bar.Counts("claims")
	progress := func(done, total int) { count("prove", done, total) }
	var proved []expect.Proved
	var err error
	if p.file == "" || len(claims) == 0 {
		proved, err = expect.Prove(c.Context(), s, claims, progress)
	} else {
		proved, err = p.writeAndProve(c, s, scenarios, claims, progress)
	}
	if exit.Interrupted(err) {
		head.Partial = "interrupted before what the answer says was proved"
	}
	if err != nil {
		return err
	}
	head.Proof = report.NewProof(proved)
	if !head.Proof.Holds {
		return fmt.Errorf("%d of %s %s not hold", len(head.Proof.Unproved()), words.Count(len(claims), "claim"), words.Pick(len(head.Proof.Unproved()), "does", "do"))
	}
	return nil
}

// proofComment is the first line of a file of claims. receivedProof is the name of one that is received: its paths are relative to the present folder.
const (
	proofComment  = "# simulate test runs each variant, and checks what its steps expect.\n"
	receivedProof = "proof.yaml"
)

// scenarioFile returns input and claims as a scenario file for the path at.
func (p *Proof) scenarioFile(c *Call, s *scenario.Scenario, scenarios []string, claims []claim.Claim, at string) (*scenario.File, error) {
	file, err := c.ScenarioFile("proof", s, scenarios, at)
	if err != nil {
		return nil, err
	}
	patched, err := c.Input.Changes.Variant(s, &c.Input.Namespace)
	if err != nil {
		return nil, err
	}
	for _, of := range claims {
		v := of.Variant()
		v.Patches = slices.Concat(patched.Patches, v.Patches)
		file.Variants = append(file.Variants, v)
	}
	return file, nil
}

// writeAndProve writes input and claims to the file, then loads the file and runs the claims in it.
func (p *Proof) writeAndProve(c *Call, s *scenario.Scenario, scenarios []string, claims []claim.Claim, progress func(done, total int)) ([]expect.Proved, error) {
	file, err := p.scenarioFile(c, s, scenarios, claims, p.file)
	if err != nil {
		return nil, err
	}
	if err := WriteScenario(p.file, proofComment, file); err != nil {
		return nil, fmt.Errorf("--proof: %w", err)
	}
	opts := c.LoaderOptions()
	opts.Plain = c.Input.Options.Plain
	written, err := loader.Load(p.file, opts)
	if err != nil {
		return nil, exit.InvalidInput(fmt.Errorf("--proof: the input cannot be put into a scenario file as it is: %w", err))
	}
	return expect.ProveVariants(c.Context(), written.Variants, progress)
}
