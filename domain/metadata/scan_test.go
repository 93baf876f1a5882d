package metadata

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTheScannerReadsWhatEncodingJSONReads(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"`, `\`, `\\"`, "\u2028", "a\"b", `{"kind":"x"}`, "]},"}))
	rapid.Check(t, func(t *rapid.T) {
		var want []Change
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			c := Change{Type: texts.Draw(t, "type"), Kind: rapid.SampledFrom(subjectList).Draw(t, "subject").kind, Name: "k" + texts.Draw(t, "key")}
			if rapid.Bool().Draw(t, "kept") {
				c.Definition = Encode(map[string]any{texts.Draw(t, "name"): []any{texts.Draw(t, "text"), 1.5, nil, true}})
			}
			if rapid.Bool().Draw(t, "known before") {
				c.Before = Encode(texts.Draw(t, "before"))
			}
			want = append(want, c)
		}
		raw := EncodeChanges(want)
		if rapid.Bool().Draw(t, "spread") {
			var tree any
			require.NoError(t, json.Unmarshal(raw, &tree))
			raw, _ = json.MarshalIndent(tree, " ", "\t") // members in another order, with blanks
		}
		s := scanner{data: raw}
		for _, c := range want {
			require.True(t, s.next(), "%s", raw)
			key, stored := s.object()
			require.Equal(t, c.Key(), key)
			require.Equal(t, key.stored(), stored)
			if c.Definition == nil {
				require.Nil(t, s.definition)
			} else {
				require.JSONEq(t, string(c.Definition), string(s.definition))
			}
		}
		require.False(t, s.next())
		require.False(t, s.bad)
	})
}

func FuzzTheScannerEndsOnAnyText(f *testing.F) {
	f.Add([]byte(`[{"type":"a","kind":"table","key":"t","definition":{"a":[1,"\\\""]}}]`))
	f.Add([]byte(`[{"kind":"table","key":"t","definition":null},`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanner{data: data}
		n := 0
		for s.next() {
			n++
		}
		require.LessOrEqual(t, n, len(data))
	})
}

func TestTextThatIsNoListOfChangesStopsAFold(t *testing.T) {
	for _, text := range []string{`{}`, `[1]`, `[{"kind":"table"}]`, `[{"key":"t"}`, `[{"kind":"table","key":"t"`, `"x"`} {
		require.Error(t, FoldFrom(Catalog{}).Event(1, SchemaVersion, []byte(text)), text)
	}
}

// Each file of testdata/upcast is the changes of one event as an older form
// had them, a line of dashes, and what they are read as.
func TestStoredExamplesOfOlderFormsAreStillRead(t *testing.T) {
	files, err := filepath.Glob("testdata/upcast/v*.txt")
	require.NoError(t, err)
	require.Len(t, files, SchemaVersion)
	for version, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		old, want := cutDashes(string(text))
		up, err := Upcast(version, []byte(old))
		require.NoError(t, err)
		require.Equal(t, want, string(up))

		f := FoldFrom(Catalog{})
		require.NoError(t, f.Event(7, version, []byte(old)))
		g := FoldFrom(Catalog{})
		require.NoError(t, g.Event(7, SchemaVersion, []byte(want)))
		require.Empty(t, Difference(f.Catalog(), g.Catalog()))
	}
}

func TestAnEventOfANewerProgramIsRefused(t *testing.T) {
	_, err := Upcast(SchemaVersion+1, []byte(`[]`))
	require.ErrorContains(t, err, "run a newer release")
}

func cutDashes(text string) (before, after string) {
	before, after, _ = strings.Cut(text, "\n---\n")
	return strings.TrimSpace(before), strings.TrimSpace(after)
}
