package render

import (
	"strings"
	"unicode/utf8"
)

// table lines up rows in columns, two spaces apart. It counts characters: wide ones, as
// in Chinese, move the columns behind them.
type table struct {
	rows [][]string
}

func newTable(header ...string) *table { return &table{rows: [][]string{header}} }

// row adds a row. Its cells are shown as they are, after [Line].
func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = Line(c)
	}
	t.rows = append(t.rows, cells)
}

func (t *table) append(b []byte) []byte {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(c)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
			}
		}
		b = append(b, strings.TrimRight(line.String(), " ")...)
		b = append(b, '\n')
	}
	return b
}
