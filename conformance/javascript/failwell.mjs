// The formats `typed` and `v1` in another language: a small implementation that the vectors hold to account, and a
// pattern for adapters. Node 20, no dependencies: failwell conformance -- node conformance/javascript/failwell.mjs
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { isDeepStrictEqual as same } from "node:util";

/** @typedef {Record<string, any>} Outcome the canonical object
 *  @typedef {{open: string, render: (error: Outcome) => any, read: (wire: any) => Outcome | null}} Format */

const codes = JSON.parse(readFileSync(new URL("../../src/failwell/conformance/codes.json", import.meta.url), "utf8"));
const WORDS = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s\-_.]+/;
const shape = (name) => name.split(WORDS).filter(Boolean).join("_").toUpperCase();
// Backwards, so that of two codes with one name or shape the first stays.
const byName = new Map([...codes].reverse().map((code) => [code.code, code]));
const byShape = new Map([...codes].reverse().map((code) => [shape(code.code), code]));
const find = (name) => (typeof name === "string" && name ? (byName.get(name) ?? byShape.get(shape(name))) : undefined);

// The code that stands for a kind where none is given; its strategy and effect are the kind's.
const KINDS = { not_found: "NOT_FOUND", conflict: "CONFLICT", validation: "VALIDATION_ERROR" };
Object.assign(KINDS, { permission: "FORBIDDEN", transient: "UNAVAILABLE", internal: "INTERNAL_ERROR" });
const TYPES = new Map(Object.keys(KINDS).map((kind) => [kind.toUpperCase(), kind]));

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isDelay = (value) => typeof value === "number" && value > 0 && value <= 1e10;
const isStatus = (value) => Number.isInteger(value) && value >= 100 && value <= 999;
const isHolders = (value) => Array.isArray(value) && value.length > 0 && value.every(isObject);
const isEmpty = (value) => value == null || value === "" || (typeof value === "object" && !Object.keys(value).length);
const keep = (object, test) => Object.fromEntries(Object.entries(object ?? {}).filter((entry) => test(...entry)));
const without = (object, ...names) => keep(object, (name) => !names.includes(name));
const present = (object) => keep(object, (_, value) => !isEmpty(value));
const text = (value) => (typeof value === "string" ? value : value == null ? "" : JSON.stringify(value));
const openMap = (value, name) => (isObject(value) ? value : value == null ? {} : { [name]: value });

/** The whole canonical object from what is stated. @returns {Outcome} */
function complete(stated) {
  const code = find(stated.code);
  const kind = stated.kind ?? code?.kind ?? (stated.retryable === true ? "transient" : "internal");
  const { strategy, effect } = code?.kind === kind ? code : find(KINDS[kind]);
  const passing = kind === "transient";
  const retryable = code?.retryable ?? (typeof stated.retryable === "boolean" ? stated.retryable : passing);
  const recoverable = typeof stated.recoverable === "boolean" ? stated.recoverable : passing;
  const said = present({ title: code?.title, severity: "error", strategy, effect, ...present(stated) });
  return { ...said, failwell: 1, kind, message: text(stated.message), retryable, recoverable };
}

/** The error with the fields that travelled under the key `failwell` put back. */
const restore = (error, carried = {}) =>
  complete({ ...("code" in carried || "title" in carried ? without(error, "title") : error), ...carried });

/** Takes the values that fit out of an open map: `wanted` has their name, the field they are, and the test. */
function read(stated, map, wanted) {
  const { failwell, ...details } = map;
  const taken = wanted.filter(([name, , fits]) => fits(details[name]));
  const own = Object.fromEntries(taken.map(([name, field]) => [field, details[name]]));
  return restore(complete({ ...stated, ...own, details: without(details, ...taken.map(([name]) => name)) }), failwell);
}

/** @type {Record<string, Format>} */
const FORMATS = {
  typed: {
    open: "data",
    render(error) {
      const own = present({ conflicts: error.conflicts, retry_after: Math.ceil(error.retry_after ?? 0) || null });
      const data = { ...without(error.details, "failwell", "conflicts", "retry_after"), ...own };
      // A question is no failure; the nearest one is an argument that is wrong.
      const type = (error.outcome ? "validation" : error.kind).toUpperCase();
      return { type, message: error.message, recoverable: error.recoverable ?? false, ...present({ data }) };
    },
    read(wire) {
      const named = (it) => typeof it?.type === "string" && (TYPES.has(it.type) || "recoverable" in it);
      const found = [wire, wire.error].find((it) => named(it) && ("recoverable" in it || "message" in it));
      if (!found) return null;
      const wanted = [["conflicts", "conflicts", isHolders], ["retry_after", "retry_after", isDelay]];
      const { type: code, message, recoverable } = found;
      const stated = { code, kind: TYPES.get(code) ?? "internal", message, recoverable };
      return read(stated, openMap(found.data, "data"), wanted);
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
      const mapped = find(known?.core ?? KINDS[error.kind]).v1;
      const stays = error.code && (known?.catalog !== "core" || find(mapped).retryable !== retryable);
      const own = present({ statusCode: error.http_status, retryAfter: error.retry_after });
      const details = { ...own, ...without(error.details, "failwell", "statusCode", "retryAfter") };
      return { kind: "toolError:v1", code: stays ? error.code : mapped, message, retryable, ...present({ details }) };
    },
    read(wire) {
      if (wire.kind === "needsInput:v1") return readQuestion(wire);
      if (wire.kind !== "toolError:v1") return null;
      const code = typeof wire.code === "string" ? wire.code : null;
      const wanted = [["statusCode", "http_status", isStatus], ["retryAfter", "retry_after", isDelay]];
      return read({ code, message: wire.message, retryable: wire.retryable }, openMap(wire.details, "details"), wanted);
    },
  },
};

function readQuestion({ message, needsInput, options = [] }) {
  const { fields = [], reason, suggestions } = needsInput ?? {};
  const whole = (it) => (isObject(it) ? { ...it, label: text(it.label ?? it.value) } : { label: text(it), value: it });
  const said = { suggestions, reason: reason === message ? null : reason, options: options.map(whole) };
  said.fields = fields.filter((name) => typeof name === "string");
  return { failwell: 1, outcome: "needs_input", message: text(message), ...present(said) };
}

/** From an object, a text, or a tool result, where the last block counts. @returns {Outcome | null} */
function parse(format, source) {
  if (typeof source === "string") {
    const json = source.replace(/^(?:Error (?:executing|calling) tool [^:\n]+: )+/, "");
    try { source = JSON.parse(json); } catch { return null; }
  }
  if (!isObject(source)) return null;
  if (!Array.isArray(source.content)) return format.read(source);
  const found = source.content.map((block) => parse(format, block.text)).filter(Boolean);
  return found.at(-1) ?? parse(format, source.structuredContent);
}

/** What an outcome says by itself: a title that follows from the code is not its own. */
const says = (it) => (it.title === find(it.code)?.title ? without(it, "title") : it);
const lost = (format, error, wire) => {
  const [mine, back] = [says(error), says(format.read(wire) ?? {})];
  return Object.keys({ ...mine, ...back }).filter((name) => !same(mine[name], back[name]));
};
const losses = (format, error) => lost(format, error, format.render(error));

function render(format, error, { carry }) {
  let wire = format.render(error);
  const [bare, failwell] = [wire, {}];
  // Again and again: keeping one field can uncover another that only looked right because the first was lost.
  for (let more; carry && (more = lost(format, error, wire).filter((name) => !(name in failwell))).length; ) {
    for (const name of more) failwell[name] = says(error)[name] ?? null;
    wire = { ...bare, [format.open]: { ...bare[format.open], failwell } };
  }
  return wire;
}

const OPERATIONS = { render, parse, losses };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, operation, format, options, input } = JSON.parse(line);
  const known = Object.hasOwn(FORMATS, format) && Object.hasOwn(OPERATIONS, operation);
  const answer = known ? { output: OPERATIONS[operation](FORMATS[format], input, options) } : { unsupported: true };
  console.log(JSON.stringify({ id, ...answer }));
}
