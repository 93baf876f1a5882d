package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// crashModel is the little that the operations of [TestKilledNodesLoseNothing]
// are about, folded by hand: an answer to compare the server's own fold with.
type crashModel struct {
	Collections map[string][]string // name, names of its queries
	Allowed     []string
	Schedules   map[string]string // cron trigger, schedule
}

func newCrashModel() *crashModel {
	return &crashModel{Collections: map[string][]string{}, Schedules: map[string]string{}}
}

func modelOf(t *testing.T, log []loggedEvent) *crashModel {
	model := newCrashModel()
	for _, event := range log {
		require.NoError(t, model.apply(event), "fold position %d", event.Position)
	}
	return model.inOrder()
}

type collectionArgs struct {
	Name           string `json:"name"`
	Collection     string `json:"collection"`
	CollectionName string `json:"collection_name"`
	QueryName      string `json:"query_name"`
	Schedule       string `json:"schedule"`
	Definition     struct {
		Queries []named `json:"queries"`
	} `json:"definition"`
}

type named struct {
	Name string `json:"name"`
}

func (m *crashModel) apply(event loggedEvent) error {
	var args collectionArgs
	if err := json.Unmarshal(event.Args, &args); err != nil {
		return err
	}
	switch event.Type {
	case "create_query_collection":
		m.Collections[args.Name] = names(args.Definition.Queries)
	case "drop_query_collection":
		delete(m.Collections, args.Collection)
		m.Allowed = slices.DeleteFunc(m.Allowed, func(name string) bool { return name == args.Collection })
	case "add_query_to_collection":
		m.Collections[args.CollectionName] = append(m.Collections[args.CollectionName], args.QueryName)
	case "drop_query_from_collection":
		m.Collections[args.CollectionName] = slices.DeleteFunc(m.Collections[args.CollectionName],
			func(name string) bool { return name == args.QueryName })
	case "add_collection_to_allowlist":
		m.Allowed = append(m.Allowed, args.Collection)
	case "create_cron_trigger":
		m.Schedules[args.Name] = args.Schedule
	case "delete_cron_trigger":
		delete(m.Schedules, args.Name)
	default:
		return fmt.Errorf("an event of type %s, which nobody asked for", event.Type)
	}
	return nil
}

func names(all []named) []string {
	out := []string{}
	for _, one := range all {
		out = append(out, one.Name)
	}
	return out
}

func (m *crashModel) inOrder() *crashModel {
	m.Allowed = slices.Compact(slices.Sorted(slices.Values(m.Allowed)))
	for queries := range maps.Values(m.Collections) {
		slices.Sort(queries)
	}
	return m
}

func modelOfExport(t *testing.T, export string) *crashModel {
	var document struct {
		Collections []collectionArgs `json:"query_collections"`
		Allowed     []collectionArgs `json:"allowlist"`
		Triggers    []collectionArgs `json:"cron_triggers"`
	}
	require.NoError(t, json.Unmarshal([]byte(export), &document))
	model := newCrashModel()
	for _, collection := range document.Collections {
		model.Collections[collection.Name] = names(collection.Definition.Queries)
	}
	for _, allowed := range document.Allowed {
		model.Allowed = append(model.Allowed, allowed.Collection)
	}
	for _, trigger := range document.Triggers {
		model.Schedules[trigger.Name] = trigger.Schedule
	}
	return model.inOrder()
}
