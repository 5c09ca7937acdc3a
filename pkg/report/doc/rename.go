package doc

// Rename replaces each text of the document.
func (d *Doc) Rename(rename func(string) string) {
	each := func(texts []string) []string {
		renamed := make([]string, len(texts))
		for i, text := range texts {
			renamed[i] = rename(text)
		}
		return renamed
	}
	cells := func(cells []Cell) {
		for i := range cells {
			cells[i].Text = rename(cells[i].Text)
		}
	}
	d.Head.Notes = each(d.Head.Notes)
	for _, section := range d.Sections {
		section.Title = rename(section.Title)
		for i, block := range section.Blocks {
			switch block := block.(type) {
			case Line:
				cells(block)
			case Verbatim:
				section.Blocks[i] = Verbatim(each(block))
			case Table:
				for _, row := range block.Rows {
					cells(row)
				}
			case Fields:
				for j := range block {
					block[j].Lines = each(block[j].Lines)
				}
			}
		}
	}
}
