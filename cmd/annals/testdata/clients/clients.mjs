// What programs on the other side of the wire do with annals. Each check is one that a user
// of the library would write; the first that fails ends the run.
import assert from "node:assert/strict";
import { WebSocket } from "ws";
import { createClient } from "graphql-ws";
import { SubscriptionClient } from "subscriptions-transport-ws";
import { ApolloClient, HttpLink, InMemoryCache, gql, split } from "@apollo/client/core/index.js";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions/index.js";
import { WebSocketLink } from "@apollo/client/link/ws/index.js";
import { getMainDefinition } from "@apollo/client/utilities/index.js";

const url = process.env.ANNALS_URL + "/v1/graphql";
const socketURL = url.replace("http", "ws");
const headers = { "x-hasura-admin-secret": process.env.ANNALS_SECRET };
const noSuchField = "field \"nothing\" not found in type: 'artist'";

const artists = "query ($id: Int!) { artist(where: {id: {_eq: $id}}) { id name } }";
const rename = "mutation ($id: Int!, $name: String!) { update_artist_by_pk(pk_columns: {id: $id}, _set: {name: $name}) { id name } }";
const watch = "subscription ($id: Int!) { artist_by_pk(id: $id) { id name } }";
const wrong = "{ artist { nothing } }";

// changes takes answers until the last one that is expected came.
async function changes(answers, expected, change) {
  const seen = [];
  for await (const answer of answers) {
    seen.push(answer.data.artist_by_pk.name);
    if (seen.length === 1) await change();
    if (seen.at(-1) === expected.at(-1)) break;
  }
  assert.deepEqual(seen, expected);
}

// answersOf makes what an observable brings iterable.
function answersOf(observable) {
  const queue = [];
  let wake, failed;
  const subscription = observable.subscribe({
    next: (answer) => { queue.push(answer); wake?.(); },
    error: (error) => { failed = error; wake?.(); },
  });
  return (async function* () {
    try {
      for (;;) {
        if (failed) throw failed;
        if (queue.length) yield queue.shift();
        else await new Promise((resolve) => { wake = resolve; });
      }
    } finally {
      subscription.unsubscribe();
    }
  })();
}

async function graphqlWS() {
  const client = createClient({ url: socketURL, webSocketImpl: WebSocket, connectionParams: { headers } });
  const only = async (request) => { for await (const answer of client.iterate(request)) return answer; };
  assert.deepEqual(await only({ query: artists, variables: { id: 1 } }), { data: { artist: [{ id: 1, name: "one" }] } });
  const renamed = (name) => only({ query: rename, variables: { id: 1, name } });
  await changes(client.iterate({ query: watch, variables: { id: 1 } }), ["one", "uno"], () => renamed("uno"));
  assert.equal((await renamed("one")).data.update_artist_by_pk.name, "one");
  await assert.rejects(only({ query: wrong }), (errors) => errors[0].message === noSuchField && errors[0].extensions.code === "validation-failed");
  await client.dispose();
}

async function graphqlWSRefused() {
  const client = createClient({ url: socketURL, webSocketImpl: WebSocket, retryAttempts: 0, connectionParams: { headers: { "x-hasura-admin-secret": "wrong" } } });
  await assert.rejects(client.iterate({ query: artists, variables: { id: 1 } }).next(), (event) => event.code === 4403);
  await client.dispose();
}

async function subscriptionsTransportWS() {
  const client = new SubscriptionClient(socketURL, { connectionParams: { headers } }, WebSocket);
  const only = async (request) => { for await (const answer of answersOf(client.request(request))) return answer; };
  assert.deepEqual(await only({ query: artists, variables: { id: 2 } }), { data: { artist: [{ id: 2, name: "two" }] } });
  await changes(answersOf(client.request({ query: watch, variables: { id: 2 } })), ["two", "due"],
    () => only({ query: rename, variables: { id: 2, name: "due" } }));
  assert.equal((await only({ query: rename, variables: { id: 2, name: "two" } })).data.update_artist_by_pk.name, "two");
  await assert.rejects(only({ query: wrong }), (error) => error.message === noSuchField || error.errors?.[0].message === noSuchField || String(error).includes(noSuchField));
  client.close();
}

// apollo does the same through Apollo client: over HTTP what has one answer, over a websocket what has many.
async function apollo(id, live, close) {
  const overSocket = ({ query }) => getMainDefinition(query).operation === "subscription";
  const client = new ApolloClient({ cache: new InMemoryCache(), link: split(overSocket, live, new HttpLink({ uri: url, headers })) });
  const { data } = await client.query({ query: gql(artists), variables: { id } });
  const before = data.artist[0].name;
  assert.equal(data.artist[0].__typename, "artist");
  const renamed = (name) => client.mutate({ mutation: gql(rename), variables: { id, name } });
  await changes(answersOf(client.subscribe({ query: gql(watch), variables: { id } })), [before, "renamed"], () => renamed("renamed"));
  assert.equal((await renamed(before)).data.update_artist_by_pk.name, before);
  await assert.rejects(client.query({ query: gql(wrong) }), (error) => error.graphQLErrors[0].message === noSuchField);
  client.stop();
  await close();
}

async function apolloGraphQLWS() {
  const client = createClient({ url: socketURL, webSocketImpl: WebSocket, connectionParams: { headers } });
  await apollo(3, new GraphQLWsLink(client), () => client.dispose());
}

async function apolloLegacy() {
  const client = new SubscriptionClient(socketURL, { connectionParams: { headers } }, WebSocket);
  await apollo(4, new WebSocketLink(client), () => client.close());
}

for (const check of [graphqlWS, graphqlWSRefused, subscriptionsTransportWS, apolloGraphQLWS, apolloLegacy]) {
  await check();
  console.log("ok", check.name);
}
