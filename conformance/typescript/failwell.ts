// The formats `typed` and `v1` in another language: a small implementation that the vectors hold to account, and a
// pattern for adapters. Node 22.18, nothing to build: failwell conformance -- node conformance/typescript/failwell.ts
import { createInterface } from "node:readline";
import { isDeepStrictEqual as same } from "node:util";
import codes from "../../src/failwell/conformance/codes.json" with { type: "json" };

type Json = null | boolean | number | string | Json[] | Obj;
type Value = Json | undefined;
interface Obj { [name: string]: Value }
interface Request { id: string; operation: string; format: string; options: Obj; input: Json }
type Code = (typeof codes)[number] & { kind: Kind };
/** The canonical object is a failure or a question. */
interface Failure extends Obj { kind: Kind; message: string; retryable: boolean; recoverable: boolean; outcome?: never }
interface Question extends Obj { outcome: "needs_input"; message: string }
type Outcome = Failure | Question;
interface Format {
  open: "data" | "details";
  render(error: Outcome): Obj;
  read(wire: Obj): Outcome | null;
}
type Wanted = [name: string, field: string, fits: (value: Value) => boolean];

// The code that stands for a kind where none is given; its strategy and effect are the kind's.
const KINDS = { not_found: "NOT_FOUND", conflict: "CONFLICT", validation: "VALIDATION_ERROR", permission: "FORBIDDEN",
  transient: "UNAVAILABLE", internal: "INTERNAL_ERROR" } as const;
type Kind = keyof typeof KINDS;
const TYPES = new Map<Value, Kind>((Object.keys(KINDS) as Kind[]).map((kind) => [kind.toUpperCase(), kind]));
const WORDS = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s\-_.]+/;
const shape = (name: string) => name.split(WORDS).filter(Boolean).join("_").toUpperCase();
// Backwards, so that of two codes with one name or shape the first stays.
const by = (key: (name: string) => string) => new Map((codes as Code[]).toReversed().map((it) => [key(it.code), it]));
const [names, shapes] = [by((name) => name), by(shape)];
const find = (name: Value) => (typeof name === "string" ? (names.get(name) ?? shapes.get(shape(name))) : undefined);

const isObject = (it: Value): it is Obj => typeof it === "object" && it !== null && !Array.isArray(it);
const isDelay = (it: Value) => typeof it === "number" && it > 0 && it <= 1e10;
const isStatus = (it: Value) => typeof it === "number" && Number.isInteger(it) && it >= 100 && it <= 999;
const isHolders = (it: Value) => Array.isArray(it) && it.length > 0 && it.every(isObject);
const isEmpty = (it: Value) => it == null || it === "" || (typeof it === "object" && !Object.keys(it).length);
const keep = (it: Obj, fits: (pair: [string, Value]) => boolean) => Object.fromEntries(Object.entries(it).filter(fits));
const without = (it: Value, ...gone: string[]): Obj => (isObject(it) ? keep(it, ([name]) => !gone.includes(name)) : {});
const present = (it: Obj): Obj => keep(it, ([, value]) => !isEmpty(value));
const list = (it: Value): Json[] => (Array.isArray(it) ? it : []);
const text = (it: Value) => (typeof it === "string" ? it : it == null ? "" : JSON.stringify(it));
const openMap = (it: Value, name: string): Obj => (isObject(it) ? it : it == null ? {} : { [name]: it });

/** Whether a call may have been done: then it is not to be made again, but for a code that means the rest of it. */
function isDoubtful(effect: Value, code?: Code): boolean {
  const rest = effect === "partial" && code?.effect === "partial" && code.retryable;
  return (effect === "unknown" || effect === "partial" || effect === "done") && !rest;
}
/** The whole canonical object from what is stated. */
function complete(stated: Obj & { kind?: Kind | null }): Failure {
  const code = find(stated.code);
  const kind = stated.kind ?? code?.kind ?? (stated.retryable === true ? "transient" : "internal");
  const usual = code?.kind === kind ? code : find(KINDS[kind])!;
  // That a kind is a refusal counts where somebody refused; what is only quoted proves nothing.
  const effect = stated.effect ?? (stated.standing === "quoted" && usual.effect === "none" ? null : usual.effect);
  const again = !isDoubtful(effect, code);
  // A peer that forbids what the code permits knows more about this call.
  const declined = again && code?.retryable === true && stated.retryable === false;
  const flag = typeof stated.retryable === "boolean" ? stated.retryable : kind === "transient";
  const passes = code ? code.retryable && !declined : flag;
  const usually = kind === "transient" && !declined;
  const recoverable = again && (typeof stated.recoverable === "boolean" ? stated.recoverable : usually);
  const step = declined && usual.strategy === "retry_with_backoff" ? "report_and_abort" : usual.strategy;
  const defaults = { title: code?.title, severity: "error", strategy: step };
  const told = without(present({ ...defaults, ...present(stated), effect }), "outcome");
  const strategy = again || told.strategy === "report_and_abort" ? told.strategy : "user_action_required";
  const flags = { retryable: passes && again, recoverable, strategy };
  return { ...told, failwell: 1, kind, message: text(stated.message), ...flags };
}
/** The details: one with a field's name stands in its place, unless the error has a value there. */
const placed = ({ details }: Obj, own: Obj): Obj => without(details, "failwell", ...Object.keys(own));
/** Takes the values that fit out of an open map, and puts back the fields that travelled there under `failwell`. */
function read(stated: Obj & { kind?: Kind }, { failwell, ...map }: Obj, wanted: Wanted[]): Failure {
  const taken = wanted.filter(([name, , fits]) => fits(map[name]));
  const own = Object.fromEntries(taken.map(([name, field]) => [field, map[name]]));
  const error = complete({ ...stated, ...own, details: without(map, ...taken.map(([name]) => name)) });
  const carried = isObject(failwell) ? failwell : {};
  const whole = complete({ ...("code" in carried || "title" in carried ? without(error, "title") : error), ...carried });
  // What only the carried fields would permit was said beside the answer, not by it.
  return permits(whole) && !permits(error) ? { ...whole, standing: "quoted" } : whole;
}
const permits = ({ retryable, effect, strategy }: Failure) =>
  retryable || effect === "none" || strategy === "retry_with_backoff" || strategy === "fix_and_retry";

const FORMATS: Record<string, Format> = {
  typed: {
    open: "data",
    render(error) {
      const own = present({ conflicts: error.conflicts, retry_after: Math.ceil(Number(error.retry_after)) || null });
      const data = { ...placed(error, own), ...own };
      // A question is no failure; the nearest one is an argument that is wrong.
      const type = (error.outcome ? "validation" : error.kind).toUpperCase();
      return { type, message: error.message, recoverable: error.recoverable ?? false, ...present({ data }) };
    },
    read(wire) {
      const named = (it: Obj) => typeof it.type === "string" && (TYPES.has(it.type) || "recoverable" in it);
      const found = [wire, wire.error].filter(isObject).filter(named).find((it) => "recoverable" in it || "message" in it);
      if (!found) return null;
      const { type: code, message, recoverable, data } = found;
      const wanted: Wanted[] = [["conflicts", "conflicts", isHolders], ["retry_after", "retry_after", isDelay]];
      return read({ code, kind: TYPES.get(code) ?? "internal", message, recoverable }, openMap(data, "data"), wanted);
    },
  },
  v1: {
    open: "details",
    render(error) {
      const { message, retryable, options, suggestions, fields = [], reason = message } = error;
      if (error.outcome) {
        const needsInput = { fields, reason, ...present({ suggestions }) };
        return { kind: "needsInput:v1", type: "elicitation", message, needsInput, ...present({ options }) };
      }
      const known = find(error.code);
      const mapped = find(known?.core ?? KINDS[error.kind])!.v1;
      const stays = error.code && (known?.catalog !== "core" || find(mapped)!.retryable !== known.retryable);
      const own = present({ statusCode: error.http_status, retryAfter: error.retry_after });
      // The contract leaves out what is not known, and its schema refuses null.
      const told = Object.entries(placed(error, own)).filter(([, value]) => value !== null);
      const details = { ...own, ...Object.fromEntries(told) };
      return { kind: "toolError:v1", code: stays ? error.code : mapped, message, retryable, ...present({ details }) };
    },
    read({ kind, code, message, retryable, details, needsInput, options }) {
      if (kind === "needsInput:v1") return question(message, without(needsInput), list(options));
      if (kind !== "toolError:v1") return null;
      const stated = { code: typeof code === "string" ? code : null, message, retryable };
      const wanted: Wanted[] = [["statusCode", "http_status", isStatus], ["retryAfter", "retry_after", isDelay]];
      return read(stated, openMap(details, "details"), wanted);
    },
  },
};

function question(message: Value, { fields, reason, suggestions }: Obj, options: Json[]): Question {
  const full = (it: Json) => isObject(it) ? { ...it, label: text(it.label ?? it.value) } : { label: text(it), value: it };
  const asked = list(fields).filter((name) => typeof name === "string");
  const said = { suggestions, reason: reason === message ? null : reason, options: options.map(full), fields: asked };
  return { failwell: 1, outcome: "needs_input", message: text(message), ...present(said) };
}

const PREFIX = /^(?:Error (?:executing|calling) tool [^:\n]+: )+/;
/** From an object, a text, or a tool result, where the last block counts. */
function parse(format: Format, source: Value): Outcome | null {
  if (typeof source === "string") try { source = JSON.parse(source.replace(PREFIX, "")); } catch { return null; }
  if (!isObject(source)) return null;
  if (!Array.isArray(source.content)) return format.read(source);
  const texts = source.content.map((block) => text(without(block).text));
  const found = texts.map((it) => parse(format, it));
  const last = found.findLastIndex((it) => it !== null);
  const error = found[last] ?? parse(format, source.structuredContent);
  // Behind words, beside another block than its own message, or in a success, it is not the answer but quoted in it.
  if (!error || error.outcome) return error;
  const tells = (it: string) => it.includes(error.message) || error.message.includes(it);
  const alone = isObject(source.structuredContent) || texts.every((it, at) => at === last || tells(it));
  const whole = source.isError === true && alone && !PREFIX.test(texts[last] ?? "");
  return whole ? error : complete({ ...without(error, "effect"), kind: error.kind, standing: "quoted" });
}

/** What an outcome says by itself: a title that follows from the code is not its own. */
const says = (it: Obj): Obj => (it.title === find(it.code)?.title ? without(it, "title") : it);
function lost(format: Format, error: Outcome, wire: Obj): string[] {
  // How it was said is for its reader to tell, unless it was said to be less than stated.
  const [mine, read] = [says(error), says(format.read(wire) ?? {})];
  const back = "standing" in mine ? read : without(read, "standing");
  return Object.keys({ ...mine, ...back }).filter((name) => !same(mine[name], back[name]));
}
function render(format: Format, error: Outcome, carry: boolean): Obj {
  const [bare, failwell]: [Obj, Obj] = [format.render(error), {}];
  // Again and again: keeping one field can uncover another that only looked right because the first was lost.
  for (let wire = bare; ; wire = { ...bare, [format.open]: { ...without(bare[format.open]), failwell } }) {
    const more = carry ? lost(format, error, wire).filter((name) => !(name in failwell)) : [];
    if (!more.length) return wire;
    for (const name of more) failwell[name] = says(error)[name] ?? null;
  }
}
const OPERATIONS: Record<string, (format: Format, input: Json, options: Obj) => Json> = {
  render: (format, input, { carry }) => render(format, input as Outcome, carry === true),
  losses: (format, input) => lost(format, input as Outcome, format.render(input as Outcome)),
  parse,
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, operation, format, options, input } = JSON.parse(line) as Request;
  const known = Object.hasOwn(FORMATS, format) && Object.hasOwn(OPERATIONS, operation);
  const answer = known ? { output: OPERATIONS[operation](FORMATS[format], input, options) } : { unsupported: true };
  console.log(JSON.stringify({ id, ...answer }));
}
