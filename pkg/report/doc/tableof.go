package doc

// TableOf builds a table: first its columns, then a row for each of several things.
type TableOf[T any] struct {
	titles []string
	cells  []func(T) Cell
}

// Add adds a column.
func (c *TableOf[T]) Add(title string, cell func(T) Cell) {
	c.titles, c.cells = append(c.titles, title), append(c.cells, cell)
}

// Text adds a column of plain texts.
func (c *TableOf[T]) Text(title string, text func(T) string) {
	c.Add(title, func(of T) Cell { return Plain.Cell(text(of)) })
}

// Number adds a column of numbers in the style, which a 0 does not have.
func (c *TableOf[T]) Number(title string, s Style, number func(T) int) {
	c.Add(title, func(of T) Cell { return Number(number(of), s) })
}

// Rows returns the titles, and a row for each thing.
func (c *TableOf[T]) Rows(things []T) [][]Cell {
	rows := [][]Cell{Bold.Row(c.titles...)}
	for _, thing := range things {
		row := make([]Cell, len(c.cells))
		for i, cell := range c.cells {
			row[i] = cell(thing)
		}
		rows = append(rows, row)
	}
	return rows
}
