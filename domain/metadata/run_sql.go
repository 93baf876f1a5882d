package metadata

import (
	"regexp"

	"annals/domain"
	"annals/domain/wire"
)

var sqlOperations = withPgAliases([]operation{{"run_sql", 1, decodeRunSQL}}, "run_sql")

// RunSQL is run_sql: SQL text of one or more statements, run in the command's
// transaction.
type RunSQL struct {
	SQL     string `json:"sql"`
	Cascade bool   `json:"cascade"`
	// Check asks whether the metadata still fits afterwards; nil leaves it to
	// what the text looks like.
	Check    *bool `json:"check_metadata_consistency,omitzero"`
	ReadOnly bool  `json:"read_only"`
}

// Operation implements [Command].
func (RunSQL) Operation() string { return "run_sql" }

func decodeRunSQL(n wire.Node) Command {
	return RunSQL{
		SQL:      sqlText(n.Field("sql")),
		Cascade:  n.Optional("cascade").BoolOr(false),
		Check:    wire.Pointer(n.Optional("check_metadata_consistency"), wire.Node.Bool),
		ReadOnly: n.Optional("read_only").BoolOr(false),
	}
}

// changesShape finds, as v1.3 does, text that may change what tables look
// like. Creating a table alone is not among it: nothing tracked changes.
var changesShape = regexp.MustCompile(`(?i)\b(alter|drop|replace)\b|\bcreate\s+function\b|\bcomment\s+on\b`)

// ChecksMetadata reports whether the metadata is to be checked afterwards.
func (c RunSQL) ChecksMetadata() bool {
	if c.ReadOnly {
		return false
	}
	if c.Check != nil {
		return *c.Check
	}
	return changesShape.MatchString(c.SQL)
}

// sqlText reads SQL that stays inside one transaction: an operation takes
// effect wholly or not at all, so its text may not end the transaction. Nor may
// it wait for rows, which nobody would send while it holds up all other changes.
func sqlText(n wire.Node) string {
	text := n.String()
	if verb, ends := endsTransaction(text); ends {
		n.FailCode(domain.NotSupported,
			"%s is not allowed: the text runs in one transaction, which commits when all of it has succeeded; leave %s out", verb, verb)
	}
	if copiesFromClient(text) {
		n.FailCode(domain.NotSupported, "COPY FROM STDIN is not allowed: an operation has nobody who would send the rows; insert them")
	}
	return text
}
