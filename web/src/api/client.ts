/** Requests to the studio's server; every failure is one sentence for people. */

import type {
  Attributes,
  Catalogue,
  DataPreview,
  DataSet,
  DrawingFile,
  ExportForm,
  ExportMade,
  ExportRequest,
  HistoryRow,
  ImportMade,
  Layout,
  Mathematics,
  MemoryNeeds,
  Neuron,
  Neurons,
  PreviewRequest,
  RecipeFields,
  RunDetail,
  RunRow,
  Workspace,
  ZooEntry,
} from "./types";

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const SILENT = "The studio's server does not answer: is it still running in its terminal?";

async function ask(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(`/api${path}`, init);
  } catch {
    throw new Refused(0, SILENT);
  }
  if (!answer.ok) throw new Refused(answer.status, await reason(answer));
  return answer;
}

export async function request<T>(
  path: string,
  body?: unknown,
  type = "application/json",
  signal: AbortSignal | null = null,
): Promise<T> {
  const init: RequestInit =
    body === undefined
      ? {}
      : {
          method: "POST",
          headers: { "Content-Type": type },
          body: body instanceof Blob ? body : JSON.stringify(body),
        };
  return (await (await ask(path, { ...init, signal })).json()) as T;
}

/** Send a file, and tell which share of it has gone; nothing comes of it once it is stopped. */
function send<T>(path: string, file: Blob, sent: (share: number) => void, stop: AbortSignal): Promise<T | null> {
  return new Promise((done, failed) => {
    const sending = new XMLHttpRequest();
    sending.open("POST", `/api${path}`);
    sending.setRequestHeader("Content-Type", "application/octet-stream");
    sending.upload.onprogress = ({ loaded, total }) => sent(loaded / Math.max(1, total));
    sending.upload.onload = () => sent(1);
    sending.onerror = () => failed(new Refused(0, SILENT));
    sending.onabort = () => done(null);
    sending.onload = async () => {
      const { status, statusText } = sending;
      const answer = new Response(sending.responseText, { status, statusText });
      if (answer.ok) done((await answer.json()) as T);
      else failed(new Refused(status, await reason(answer)));
    };
    stop.onabort = () => sending.abort();
    sending.send(file);
  });
}

async function reason(answer: Response): Promise<string> {
  if (answer.status === 401)
    return "This page is not signed in: open the link that the studio printed when it started.";
  try {
    const { detail } = (await answer.json()) as { detail?: unknown };
    if (typeof detail === "string") return detail;
    if (Array.isArray(detail)) return detail.map((one) => (one as { msg?: string }).msg ?? String(one)).join("; ");
  } catch {
    // No JSON came: the status is all there is to tell.
  }
  return `The server answered ${answer.status} ${answer.statusText}.`;
}

const of = (id: string) => `/drawings/${encodeURIComponent(id)}`;

export const api = {
  catalogue: () => request<Catalogue>("/catalogue"),
  workspace: () => request<Workspace>("/workspace"),
  zoo: (search = "") => request<ZooEntry[]>(`/zoo?search=${encodeURIComponent(search)}`),
  create: (body: { name: string; zoo?: string; text?: string; picture?: string }) =>
    request<{ id: string }>("/drawings", body),
  rename: (id: string, name: string) => request<unknown>(`${of(id)}/rename`, { name }),
  duplicate: (id: string) => request<{ id: string }>(`${of(id)}/duplicate`, {}),
  remove: (id: string) => request<{ undo: string }>(`${of(id)}/delete`, {}),
  undelete: (undo: string) => request<unknown>("/undelete", { undo }),
  layout: (id: string, group = "") => request<Layout>(`${of(id)}/layout?group=${encodeURIComponent(group)}`),
  export: (id: string, asked: ExportRequest, stop: AbortSignal) =>
    request<ExportMade>(`${of(id)}/export`, asked, "application/json", stop),
  /** A figure as it would be exported, as a picture of this page. */
  figure: async (id: string, looks: string, stop: AbortSignal) =>
    URL.createObjectURL(await (await ask(`${of(id)}/figure.svg?${looks}`, { signal: stop })).blob()),
  forms: () => request<ExportForm[]>("/exports/forms"),
  bring: (name: string, file: Blob, sent: (share: number) => void, stop: AbortSignal) =>
    send<ImportMade>(`/imports?name=${encodeURIComponent(name)}`, file, sent, stop),
  weights: (id: string) => request<{ file: string | null }>(`${of(id)}/weights`),
  code: (id: string) => request<{ source: string }>(`${of(id)}/code`),
  history: (id: string) => request<HistoryRow[]>(`${of(id)}/history`),
  at: (id: string, seq: number) => request<{ document: DrawingFile }>(`${of(id)}/at/${seq}`),
  restore: (id: string, seq: number) => request<unknown>(`${of(id)}/restore`, { seq }),
  mathematics: (id: string, item: string) => request<Mathematics>(`${of(id)}/mathematics/${encodeURIComponent(item)}`),
  expand: (id: string, capsule = "") =>
    request<{ id: string | null; why: string }>(
      `${of(id)}/expand${capsule ? `?capsule=${encodeURIComponent(capsule)}` : ""}`,
      {},
    ),
  neurons: (id: string) => request<Neurons>(`${of(id)}/neurons`),
  neuron: (id: string, number: number) => request<Neuron>(`${of(id)}/neurons/${number}`),
  data: () => request<DataSet[]>("/data"),
  preview: (asked: PreviewRequest) => request<DataPreview>("/data/preview", asked),
  upload: (name: string, file: Blob) =>
    request<{ name: string }>(`/data/upload?name=${encodeURIComponent(name)}`, file, "application/octet-stream"),
  fields: () => request<RecipeFields>("/recipes/fields"),
  train: (
    id: string,
    data: string | Attributes | { name: string; options: Record<string, string> },
    recipe: Attributes,
    watchers: { tensorboard?: boolean; mlflow?: boolean } = {},
  ) => request<{ run: string }>(`${of(id)}/train`, { data, recipe, ...watchers }),
  memory: (id: string, query: string) => request<MemoryNeeds>(`${of(id)}/memory?${query}`),
  runs: (id: string) => request<RunRow[]>(`/runs?drawing=${encodeURIComponent(id)}`),
  run: (id: string) => request<RunDetail>(`/runs/${encodeURIComponent(id)}`),
};

export const link = {
  zooPicture: (name: string, dark: boolean) =>
    `/api/zoo/${encodeURIComponent(name)}/picture.svg${dark ? "?dark=1" : ""}`,
  picture: (id: string, dark = false) => `/api/drawings/${encodeURIComponent(id)}/picture.svg${dark ? "?dark=1" : ""}`,
  /** With the drawing inside. */
  svg: (id: string, dark = false) =>
    `/api/drawings/${encodeURIComponent(id)}/picture.svg?carry=1${dark ? "&dark=1" : ""}`,
  exported: (token: string, name: string) => `/api/exports/${token}/${encodeURIComponent(name)}`,
  png: (id: string, dark = false) => `/api/drawings/${encodeURIComponent(id)}/picture.png${dark ? "?dark=1" : ""}`,
  file: (id: string) => `/api/drawings/${encodeURIComponent(id)}/file`,
  live: (id: string) =>
    `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/drawings/${encodeURIComponent(id)}/live`,
};
