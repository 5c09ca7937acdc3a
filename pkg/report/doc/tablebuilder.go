package doc

// TableBuilder builds a table: first its columns, then a row for each of several things.
type TableBuilder[T any] struct {
	titles []string
	cells  []func(T) Cell
}

// AddColumn adds a column.
func (c *TableBuilder[T]) AddColumn(title string, cell func(T) Cell) {
	c.titles, c.cells = append(c.titles, title), append(c.cells, cell)
}

// AddTextColumn adds a column of plain texts.
func (c *TableBuilder[T]) AddTextColumn(title string, text func(T) string) {
	c.AddColumn(title, func(of T) Cell { return Plain.Cell(text(of)) })
}

// AddNumberColumn adds a column of numbers in the style, which a 0 does not have.
func (c *TableBuilder[T]) AddNumberColumn(title string, s Style, number func(T) int) {
	c.AddColumn(title, func(of T) Cell { return Number(number(of), s) })
}

// Rows returns the titles, and a row for each thing.
func (c *TableBuilder[T]) Rows(things []T) [][]Cell {
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
