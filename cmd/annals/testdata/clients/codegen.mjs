// graphql-codegen makes TypeScript of what annals says of itself, and of operations; the
// compiler then has nothing to say against it, nor against a program that uses it, and
// finds what is wrong with one that uses it wrongly.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { buildClientSchema, getIntrospectionQuery, parse, printSchema, validateSchema } from "graphql";
import { codegen } from "@graphql-codegen/core";
import * as typescript from "@graphql-codegen/typescript";
import * as operations from "@graphql-codegen/typescript-operations";
import ts from "typescript";

const documents = `
  query Everything($where: artist_bool_exp, $name: String) {
    artist(where: $where, order_by: [{albums_aggregate: {count: desc}}]) {
      id name mood
      albums(limit: 2) { title artist { id } }
      albums_aggregate { aggregate { count max { id } } nodes { id } }
    }
    artist_aggregate(where: {mood: {_eq: calm}}) { aggregate { count(columns: [id], distinct: true) } }
    find_artists(args: {part: "o"}) { id }
    hello(name: $name)
    remote { version }
  }
  mutation Write($albums: [album_insert_input!]!) {
    insert_album(objects: $albums, on_conflict: {constraint: album_pkey, update_columns: [title]}) { affected_rows returning { id } }
    greet(name: "you") { text }
  }
  subscription Watch { artist_by_pk(id: 1) { id mood } }`;

const uses = `
  import type { EverythingQuery, WatchSubscription, WriteMutationVariables, Mood_Enum } from "./types.js";
  export const titles = (q: EverythingQuery): (string | null | undefined)[] => q.artist.flatMap((a) => a.albums.map((b) => b.title));
  export const counted = (q: EverythingQuery): number | undefined => q.artist_aggregate.aggregate?.count;
  export const mood = (w: WatchSubscription): Mood_Enum | null | undefined => w.artist_by_pk?.mood;
  export const variables: WriteMutationVariables = { albums: [{ id: 1, title: "t", artist: { data: { name: "n" } } }] };`;
const misuse = `
  import type { EverythingQuery } from "./types.js";
  export const name = (q: EverythingQuery): number => q.artist[0].name;`;

const answer = await fetch(process.env.ANNALS_URL + "/v1/graphql", {
  method: "POST",
  headers: { "content-type": "application/json", "x-hasura-admin-secret": process.env.ANNALS_SECRET },
  body: JSON.stringify({ query: getIntrospectionQuery() }),
});
const { data, errors } = await answer.json();
assert.equal(errors, undefined);
const schema = buildClientSchema(data);
assert.deepEqual(validateSchema(schema), [], "the schema breaks rules of GraphQL");
console.log("ok introspection");

const code = await codegen({
  schema: parse(printSchema(schema)), documents: [{ location: "operations.graphql", document: parse(documents) }],
  filename: "types.ts", config: {}, plugins: [{ typescript: {} }, { operations: {} }], pluginMap: { typescript, operations },
});
const faults = (program) => {
  const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], lib: ["lib.es2022.d.ts"], target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext };
  writeFileSync("program.ts", program);
  return ts.getPreEmitDiagnostics(ts.createProgram(["program.ts"], options)).map((d) => ts.flattenDiagnosticMessageText(d.messageText, "\n"));
};
writeFileSync("types.ts", code);
assert.deepEqual(faults(uses), []);
assert.deepEqual(faults(misuse), ["Type 'string' is not assignable to type 'number'."]);
console.log("ok codegen");
