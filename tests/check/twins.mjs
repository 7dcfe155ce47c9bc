// Pairs of servers on the official TypeScript SDK that differ in one planted defect of their failures.
//
//     node tests/check/twins.mjs NAME --bad|--good
//
// `ts_twins.py` says what each pair is about. The packages are those of tests/server/clients.

import { createRequire } from 'node:module';

const require = createRequire(new URL('../server/clients/package.json', import.meta.url));
const { z } = require('zod');

const BOOKS = { bk_1: 'Persuasion', bk_2: 'Middlemarch', bk_3: 'Cranford' };
const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const said = (text) => ({ content: [{ type: 'text', text }] });
const failed = (text) => ({ content: [{ type: 'text', text }], isError: true });
const shown = (value) => JSON.stringify(value)?.slice(0, 40) ?? 'nothing';
const list = () => said(Object.entries(BOOKS).map((pair) => pair.join(' ')).join('\n'));

const SENTENCES = {
    book_id: "The argument 'book_id' must be a string such as \"bk_1\". Call list_books to see the ids. Nothing was done.",
    detail: "The argument 'detail' must be one of \"short\", \"full\". Nothing was done.",
};
const noArgument = (name) => `list_books takes no argument ${shown(name)}: call it without arguments. Nothing was done.`;
const unknown = (name) => `get_book takes no argument ${shown(name)}: it takes book_id and detail. Nothing was done.`;
const noTool = (name) => `There is no tool ${shown(name)}. Call one of these instead: list_books, get_book. Nothing was done.`;
const noBook = (id) =>
    `No book has the id ${shown(id)}. Nothing was done, and the same call would fail again. ` +
    'Call list_books to see the ids, then call get_book with one of them.';

const SHAPE = {
    book_id: z.string({ error: SENTENCES.book_id }).regex(/^bk_[0-9]{1,6}$/, { error: SENTENCES.book_id }).describe('The id of a book.').meta({ examples: ['bk_1'] }),
    detail: z.enum(['short', 'full'], { error: SENTENCES.detail }).optional().describe('How much is told.'),
};
const told = (words) => ({ error: (issue) => (issue.code === 'unrecognized_keys' ? issue.keys.map(words).join(' ') : undefined) });
const strict = z.strictObject(SHAPE, told(unknown));
const NOTHING = z.strictObject({}, told(noArgument));
const SCHEMA = {
    type: 'object',
    properties: {
        book_id: { type: 'string', pattern: '^bk_[0-9]{1,6}$', examples: ['bk_1'], description: 'The id of a book.' },
        detail: { type: 'string', enum: ['short', 'full'], description: 'How much is told.' },
    },
    required: ['book_id'],
    additionalProperties: false,
};

// A server: what differs from the good one is what its defect overrides.
const GOOD = {
    schema: strict,
    start() {},
    refuse(args) {
        const checked = strict.safeParse(args);
        return checked.success ? null : failed(checked.error.issues.map((issue) => issue.message).join(' '));
    },
    noTool: (name) => failed(noTool(name)),
    noBook: (id) => failed(noBook(id)),
    get(args) {
        return args.book_id in BOOKS ? said(BOOKS[args.book_id]) : this.noBook(args.book_id);
    },
};

class UpstreamError {
    constructor(status) {
        this.status = status;
    }
}

function connect(id) {
    throw new Error(`no row ${id} at postgres://library:hunter2-Tr0ub4dor@db.internal/books`);
}

const caught = (act, words) => {
    try {
        return act();
    } catch (error) {
        return words(error);
    }
};

const TWINS = {
    'ts-stack': ['v1', { noBook: (id) => caught(() => connect(id), (error) => failed(error.stack)) }],
    'ts-as-success': ['low', { noBook: (id) => said(`Error: ${noBook(id)}`) }],
    'ts-object': ['v1', { noBook: (id) => caught(() => { throw new UpstreamError(404); }, (error) => failed(`Error: ${error}`)) }],
    'ts-thrown': ['low', { noBook: (id) => { throw new Error(noBook(id)); } }],
    'ts-type-error': ['low', { refuse: () => null, get: (args) => caught(() => (args.book_id.trim() in BOOKS ? said('a book') : failed(noBook(args.book_id))), (error) => failed(error.message)) }],
    'ts-strips': ['v1', { schema: z.object(SHAPE) }],
    'ts-strips-2': ['v2', { schema: z.object(SHAPE) }],
    'ts-exits': ['low', { refuse(args) { if (typeof args.book_id !== 'string') process.exit(1); return GOOD.refuse(args); } }],
    'ts-fetch-failed': ['v2', { noBook: async () => { try { return await fetch('http://127.0.0.1:9/books'); } catch (error) { return failed(error.message); } } }],
    'ts-zod-dump': ['low', { refuse(args) { const checked = strict.safeParse(args); return checked.success ? null : failed(checked.error.toString()); } }],
    'ts-console': ['v1', { noBook(id) { console.log(`get_book: ${id} not found`); return failed(noBook(id)); } }],
    'ts-token': ['v2', { noBook: (id) => failed(`401 from catalogue, sent Authorization: Bearer sk-live-7Qz1vB4mT9xR2wK8pL5n. ${noBook(id)}`) }],
    'ts-any-tool': ['low', { noTool: (name) => said('ok') }],
    'ts-hangs': ['low', { refuse(args) { return typeof args.book_id === 'string' ? GOOD.refuse(args) : new Promise(() => {}); } }],
    'ts-ghost': ['low', { noBook: (id) => failed(`No book has the id ${shown(id)}. Call \`searchBooks\` to see the ids.`) }],
    'ts-ghost-2': ['v2', { noBook: (id) => failed(`No book has the id ${shown(id)}. Look the ids up by calling find_all_books.`) }],
    'ts-again': ['v1', { noBook: () => failed('Could not reach that book just now. Send the same request again.') }],
    'ts-retryable': ['v2', { noBook: (id) => failed(JSON.stringify({ error: { code: 'BOOK_NOT_FOUND', message: noBook(id), retriable: true } })) }],
    'ts-undefined': ['low', { noBook: (id) => failed(`No book has the id ${shown(id)}. Call ${GOOD.helper} to see the ids.`) }],
    'ts-foreign-argument': ['v2', { noBook: () => failed("The argument 'isbn' must be one of the library's. Call list_books to see what there is.") }],
    'ts-page': ['v2', { noBook: () => failed('<!DOCTYPE html><html><body>' + "<div class='x'><p>Bad gateway</p></div>".repeat(1600)) }],
};

const [name, which] = process.argv.slice(2);
const [sdk, defect] = TWINS[name];
const desk = which === '--bad' ? { ...GOOD, ...defect } : GOOD;
// Keeps a server alive whose promises never end.
setInterval(() => {}, 60_000).unref();

if (sdk === 'low') {
    const { Server } = require('@modelcontextprotocol/sdk/server/index.js');
    const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
    const { CallToolRequestSchema, ListToolsRequestSchema } = require('@modelcontextprotocol/sdk/types.js');
    const server = new Server({ name: 'library', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({
        tools: [
            { name: 'list_books', description: 'The ids and titles of all books.', inputSchema: { type: 'object', additionalProperties: false }, annotations: READS },
            { name: 'get_book', description: 'What is known of one book.', inputSchema: SCHEMA, annotations: READS },
        ],
    }));
    server.setRequestHandler(CallToolRequestSchema, async (request) => {
        const { name: tool, arguments: args = {} } = request.params;
        if (tool === 'list_books') return Object.keys(args).length ? failed(Object.keys(args).map(noArgument).join(' ')) : list();
        return tool === 'get_book' ? ((await desk.refuse(args)) ?? desk.get(args)) : desk.noTool(tool);
    });
    await server.connect(new StdioServerTransport());
} else {
    const home = sdk === 'v1' ? '@modelcontextprotocol/sdk/server' : '@modelcontextprotocol/server';
    const { McpServer } = require(sdk === 'v1' ? `${home}/mcp.js` : home);
    const { StdioServerTransport } = require(sdk === 'v1' ? `${home}/stdio.js` : `${home}/stdio`);
    const server = new McpServer({ name: 'library', version: '1' });
    server.registerTool('list_books', { description: 'The ids and titles of all books.', inputSchema: NOTHING, annotations: READS }, list);
    server.registerTool('get_book', { description: 'What is known of one book.', inputSchema: desk.schema, annotations: READS }, async (args) => desk.get(args));
    await server.connect(new StdioServerTransport());
}
