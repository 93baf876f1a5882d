package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"annals/domain"
	"annals/domain/metadata"
)

// A change is told in the language of objects: a sign, what kind of thing it
// is, and its name.
//
//	+ permission public.album user select
//	~ table public.album
//	    configuration.custom_name: null → "Album"
//	- cron trigger nightly

// signOf is + for an object that was made, - for one that is gone, ~ for one
// that is another now.
func signOf(c metadata.Change) (sign string, as colour) {
	switch {
	case len(c.Before) == 0:
		return "+", green
	case len(c.Definition) == 0:
		return "-", red
	}
	return "~", yellow
}

// nameOf names an object: "permission public.album user select".
func nameOf(key metadata.Key) string {
	kind := strings.ReplaceAll(string(key.Kind), "_", " ")
	switch key.Kind {
	case metadata.KindCustomTypes:
		return kind
	case metadata.KindRelationship, metadata.KindRemoteRelationship, metadata.KindComputedField, metadata.KindPermission:
		return kind + " " + spaced(key.Name, 1)
	case metadata.KindActionPermission:
		return kind + " " + spaced(key.Name, 0)
	}
	return kind + " " + key.Name
}

// spaced turns the dots between the parts of a key into spaces, but for the
// first few. Dots within quotes are part of a name.
func spaced(key string, keep int) string {
	quoted := false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '.' && !quoted && keep > 0:
			keep--
		case r == '.' && !quoted:
			return ' '
		}
		return r
	}, key)
}

func (c console) change(change metadata.Change) string {
	sign, as := signOf(change)
	return c.paint(as, oneLine(sign+" "+nameOf(change.Key())))
}

// summary is changes in a few words.
func (c console) summary(changes []metadata.Change) string {
	switch len(changes) {
	case 0:
		return ""
	case 1:
		return c.change(changes[0])
	}
	return fmt.Sprintf("%s and %d more", c.change(changes[0]), len(changes)-1)
}

// printChanges prints changes one by one; of an object that is another now,
// what is different.
func (c console) printChanges(w io.Writer, indent string, changes []metadata.Change) {
	for _, change := range changes {
		fmt.Fprintln(w, indent+c.change(change))
		if len(change.Before) == 0 || len(change.Definition) == 0 {
			continue
		}
		for _, d := range differences("", change.Before, change.Definition) {
			fmt.Fprintf(w, "%s    %s: %s → %s\n", indent, oneLine(d.path), c.paint(red, oneLine(d.before)), c.paint(green, oneLine(d.after)))
		}
	}
}

// difference is one member of a definition that has another value now.
type difference struct{ path, before, after string }

// differences finds the members that differ between two JSON texts, objects
// within objects included.
func differences(path string, before, after json.RawMessage) []difference {
	old, isObject := members(before)
	now, isObjectNow := members(after)
	if !isObject || !isObjectNow {
		if b, a := compact(before), compact(after); b != a {
			return []difference{{path, b, a}}
		}
		return nil
	}
	all := maps.Clone(old)
	maps.Copy(all, now)
	var found []difference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		found = append(found, differences(below(path, name), old[name], now[name])...)
	}
	return found
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func members(text json.RawMessage) (m map[string]json.RawMessage, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return nil, false
	}
	return m, json.Unmarshal(text, &m) == nil
}

// compact is a value on one line; one that is not there is null.
func compact(text json.RawMessage) string {
	var b bytes.Buffer
	if len(text) == 0 || json.Compact(&b, text) != nil {
		return "null"
	}
	return b.String()
}

// pretty is a value on several lines. What JSON lets stand in a text although it
// moves a terminal's cursor is written as JSON can write it too.
func pretty(text json.RawMessage, indent string) string {
	var lines bytes.Buffer
	if json.Indent(&lines, text, indent, "  ") != nil {
		return oneLine(string(text))
	}
	var b strings.Builder
	for _, r := range lines.String() {
		if r == '\n' || !movesCursor(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// who names the author of an event: the user of the command line, else the
// role, and in brackets what let them in.
func who(a domain.Actor) string {
	name := a.Role
	if user := a.Session[userVariable]; user != "" {
		name = user
	}
	if a.Credential != "" {
		name += " (" + a.Credential + ")"
	}
	return oneLine(name)
}
