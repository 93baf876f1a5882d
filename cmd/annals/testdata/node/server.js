// A GraphQL server by graphql-js, as many remote servers are. It says on its
// first line which port it listens on, and ends when its input does.
import { createServer } from "node:http";
import { buildSchema, graphql, GraphQLError } from "graphql";

const schema = buildSchema(`
  "A moment, as ISO 8601 has it"
  scalar Moment
  scalar JSON
  enum Genre { ROCK JAZZ @deprecated(reason: "nobody asks") FOLK }
  interface Node { id: ID! }
  type Song implements Node { id: ID! title(loud: Boolean = false): String! genre: Genre at: Moment notes: JSON broken: String next: Song }
  type Album implements Node { id: ID! name: String! songs(first: Int = 2, genre: Genre): [Song!]! }
  union Found = Song | Album
  input Range { from: Int! = 0, to: Int }
  input SongInput { title: String! genre: Genre = FOLK tags: [String!] range: Range notes: JSON }
  type Query {
    song(id: ID!): Song
    songs(ids: [ID!]!): [Song]
    node(id: ID!): Node
    search(text: String!): [Found!]!
    echo(song: SongInput, at: Moment): JSON
    who: JSON
  }
  type Mutation { add(song: SongInput!): Song  count: Int! }
  type Subscription { ticks: Int }
`);

const song = (id, more) => ({
  __typename: "Song", id: String(id), genre: "JAZZ", at: "2020-11-25T10:00:00Z", notes: { bars: [1, 2.5, null] },
  title: ({ loud }) => (loud ? `SONG ${id}` : `Song ${id}`),
  broken: () => { throw new GraphQLError("out of tune", { extensions: { code: "TUNE" } }); },
  next: () => song(Number(id) + 1),
  ...more,
});
const album = (id) => ({
  __typename: "Album", id, name: `Album ${id}`,
  songs: ({ first, genre }) => Array.from({ length: first }, (_, i) => song(i + 1, genre && { genre })),
});

let count = 0;
const root = (headers) => ({
  song: ({ id }) => (id === "0" ? null : song(id)),
  songs: ({ ids }) => ids.map((id) => (id === "0" ? null : song(id))),
  node: ({ id }) => (id.startsWith("a") ? album(id) : song(id)),
  search: ({ text }) => [song(7, { title: text }), album("a1")],
  echo: (given) => given,
  who: { role: headers["x-service-role"] ?? headers["x-hasura-role"], user: headers["x-service-user-id"] ?? headers["x-hasura-user-id"], team: headers["x-team"] },
  add: ({ song: given }) => song(++count, { title: given.title, genre: given.genre, notes: given }),
  count: () => count,
});

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { query, variables, operationName } = JSON.parse(Buffer.concat(chunks).toString());
  const answer = await graphql({ schema, source: query, rootValue: root(request.headers), variableValues: variables, operationName });
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ ...answer, extensions: { server: "graphql-js" } }));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
