// Package words puts numbers into sentences.
package words

import "strconv"

// Count is a number and its noun: "1 spec", "2 specs".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
