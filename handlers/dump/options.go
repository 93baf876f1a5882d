package dump

import (
	"fmt"
	"strings"
)

// plain are the options of pg_dump that stand alone, and valued those with a
// value, by their long names; a short name leads to its long one.
var (
	plain = setOf(`data-only schema-only blobs no-blobs clean create no-owner no-privileges no-acl if-exists inserts
		column-inserts attribute-inserts quote-all-identifiers no-comments no-publications no-security-labels
		no-subscriptions no-tablespaces no-unlogged-table-data no-toast-compression disable-dollar-quoting disable-triggers
		enable-row-security on-conflict-do-nothing serializable-deferrable strict-names use-set-session-authorization
		load-via-partition-root verbose`)
	valued = setOf(`schema exclude-schema table exclude-table exclude-table-data extension encoding superuser section
		lock-wait-timeout rows-per-insert extra-float-digits role include-foreign-data format`)
	short = map[byte]string{
		'a': "data-only", 's': "schema-only", 'b': "blobs", 'B': "no-blobs", 'c': "clean", 'C': "create", 'O': "no-owner",
		'x': "no-privileges", 'v': "verbose", 'n': "schema", 'N': "exclude-schema", 't': "table", 'T': "exclude-table",
		'e': "extension", 'E': "encoding", 'S': "superuser", 'F': "format",
	}
)

// textFormats are the values of --format that stand for SQL text.
var textFormats = setOf("p plain")

// OptionError is an option that is not passed on to pg_dump.
type OptionError struct {
	// Index is the option's place in the list.
	Index  int
	Reason string
}

func (e *OptionError) Error() string { return e.Reason }

// check refuses a list that holds what is not to be passed on. Long names are
// taken as they are, not by their beginnings.
func check(options []string) error {
	for i := 0; i < len(options); i++ {
		name, value, takes, err := read(options[i])
		at := i
		if err == nil && takes && value == "" {
			if i++; i == len(options) {
				err = fmt.Errorf("%s needs a value", options[at])
			} else {
				value = options[i]
			}
		}
		if err == nil && name == "format" && !textFormats[value] {
			err = fmt.Errorf("the format %q is no text: only plain is answered", value)
		}
		if err != nil {
			return &OptionError{at, err.Error()}
		}
	}
	return nil
}

// read takes one option apart: its name, a value that is written with it, and
// whether it takes one.
func read(option string) (name, value string, takes bool, err error) {
	refusal := fmt.Errorf("the option %q is not for clients: give options of pg_dump that choose what is dumped, such as --schema or --schema-only", option)
	if long, ok := strings.CutPrefix(option, "--"); ok {
		name, value, given := strings.Cut(long, "=")
		if valued[name] && (!given || value != "") {
			return name, value, true, nil
		}
		if plain[name] && !given {
			return name, "", false, nil
		}
		return "", "", false, refusal
	}
	letters, ok := strings.CutPrefix(option, "-")
	if !ok || letters == "" {
		return "", "", false, refusal
	}
	for i := range len(letters) {
		name = short[letters[i]]
		switch {
		case valued[name]:
			return name, letters[i+1:], true, nil
		case !plain[name]:
			return "", "", false, refusal
		}
	}
	return name, "", false, nil
}

func setOf(names string) map[string]bool {
	set := make(map[string]bool)
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}
