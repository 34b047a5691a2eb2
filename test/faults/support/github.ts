import { createServer } from "node:http";
import { listenLocally } from "../../support/listen.ts";

/** An uploaded artifact of a run. */
export interface Artifact {
  readonly id: number;
  readonly run: number;
  readonly name: string;
  readonly expired: boolean;
  /** The folder with its files. */
  readonly folder: string;
}

interface Comment {
  readonly id: number;
  readonly user: { readonly type: string };
  body: string;
}

/** The part of GitHub's API that the workflow uses. */
export interface GitHub {
  readonly url: string;
  /** The token that requests must send. */
  readonly token: string;
  readonly artifacts: Artifact[];
  /** Successful runs of pull requests, newest first. */
  readonly runs: { id: number; head_sha: string; head_repository: { full_name: string } }[];
  /** Merged pull requests by merge commit. */
  readonly merged: Map<string, { number: number; head: string; base?: string }>;
  readonly comments: Map<number, Comment[]>;
  /** The last commits of open pull requests. */
  readonly heads: Map<number, string>;
  /** Requests that fail, such as `POST issues/12/comments`. */
  readonly fails: Set<string>;
  close(): Promise<void>;
}

/** A method with a path, and the handler for its captured part. */
type Route = readonly [RegExp, (part: string, query: URLSearchParams, body: string) => unknown];

/** The repository of the tests. */
export const repositoryName = "lantern-hill/drafts";

/** Starts a server that emulates GitHub's REST API. */
export async function startGitHub(): Promise<GitHub> {
  const token = "ghs_of-the-job";
  const state = {
    artifacts: [] as Artifact[],
    runs: [] as GitHub["runs"],
    merged: new Map<string, { number: number; head: string; base?: string }>(),
    comments: new Map<number, Comment[]>(),
    heads: new Map<number, string>(),
    fails: new Set<string>(),
  };
  const add = (number: number, body: string) => {
    const all = state.comments.get(number) ?? [];
    const comment = { id: all.length + 1000 * number, user: { type: "Bot" }, body };
    state.comments.set(number, [...all, comment]);
    return comment;
  };
  const change = (id: number, body: string) => {
    const comment = [...state.comments.values()].flat().find((each) => each.id === id);
    if (comment !== undefined) comment.body = body;
    return comment;
  };
  const pullsOf = (sha: string) => {
    const request = state.merged.get(sha);
    if (request === undefined) return [];
    const base = { ref: "main" };
    const closed = { number: 1, merged_at: null, base, head: { sha: "0" } };
    const elsewhere = {
      number: 2,
      merged_at: "2026-11-20",
      base: { ref: "develop" },
      head: { sha: request.head },
    };
    return [
      closed,
      elsewhere,
      { number: request.number, merged_at: "2026-11-21", base, head: { sha: request.head } },
    ];
  };
  const pullOf = (number: number) => {
    const request = [...state.merged.values()].find((each) => each.number === number);
    const base = { ref: request?.base ?? "main" };
    if (request === undefined)
      return { number, merged_at: null, base, head: { sha: state.heads.get(number) } };
    return { number, merged_at: "2026-11-21", base, head: { sha: request.head } };
  };
  /** Runs that are not listed are those of the default branch. */
  const runOf = (id: number) => {
    const request = state.runs.find((each) => each.id === id);
    if (request !== undefined) return { ...request, event: "pull_request", head_branch: "mine" };
    return { id, event: "push", head_branch: "main", head_repository: { full_name: repositoryName } };
  };
  const routes: readonly Route[] = [
    [/^GET commits\/(\w+)\/pulls$/, (sha) => pullsOf(sha)],
    [
      /^GET actions\/runs\/(\d+)\/artifacts$/,
      (run) => ({ artifacts: state.artifacts.filter((each) => each.run === Number(run)) }),
    ],
    [
      /^GET actions\/workflows\/draftsync.yml\/(runs)$/,
      (_runs, query) => ({
        workflow_runs: state.runs.filter((each) => each.head_sha === query.get("head_sha")),
      }),
    ],
    [/^GET actions\/runs\/(\d+)$/, (run) => runOf(Number(run))],
    [/^GET pulls\/(\d+)$/, (number) => pullOf(Number(number))],
    [
      /^GET issues\/(\d+)\/comments$/,
      (number, query) => {
        const page = Number(query.get("page") ?? 1);
        return (state.comments.get(Number(number)) ?? []).slice((page - 1) * 100, page * 100);
      },
    ],
    [/^POST issues\/(\d+)\/comments$/, (number, _query, body) => add(Number(number), body)],
    [/^PATCH issues\/comments\/(\d+)$/, (id, _query, body) => change(Number(id), body)],
  ];
  const answer = (method = "", { pathname, searchParams }: URL, body: string) => {
    const path = pathname.replace(`/repos/${repositoryName}/`, `${method} `);
    if (state.fails.has(path)) return undefined;
    const [route, reply] = routes.find(([each]) => each.test(path)) ?? [];
    const [, part = ""] = route?.exec(path) ?? [];
    return reply?.(part, searchParams, body === "" ? "" : JSON.parse(body).body);
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const known = request.headers.authorization === `Bearer ${token}`;
    const found = known
      ? answer(request.method, new URL(request.url ?? "", "http://github"), body)
      : undefined;
    response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(found ?? {}));
  });
  const port = await listenLocally(server);
  return {
    ...state,
    url: `http://127.0.0.1:${port}`,
    token,
    close: () => new Promise<void>((closed) => server.close(() => closed())),
  };
}
