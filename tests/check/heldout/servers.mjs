// Defects of servers on the official TypeScript SDK: node servers.mjs NAME --bad|--good
//
// Recipes (v1, the low-level Server), a hotel (v1, McpServer) and parcels (v2). The packages are those of tests/server/clients.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(new URL('../../server/clients/package.json', import.meta.url));
const { z } = require('zod');
const [name, which] = process.argv.slice(2);
const bad = which === '--bad';
const is = (wanted) => bad && name === wanted;
const READS = { readOnlyHint: true };
const ok = (text) => ({ content: [{ type: 'text', text }] });
const no = (text) => ({ ...ok(text), isError: true });

const DISHES = { soup: 'Leeks, potatoes, cream.', pie: 'Apples, butter, flour.' };
const HOUSES = {
    async recipes() {
        const { Server } = require('@modelcontextprotocol/sdk/server/index.js');
        const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
        const { CallToolRequestSchema, ListToolsRequestSchema, McpError, ErrorCode } = require('@modelcontextprotocol/sdk/types.js');
        const server = new Server({ name: 'recipes', version: '0.4.0' }, { capabilities: { tools: {} } });
        const schema = z.strictObject({ dish: z.string(), portions: z.number().int().min(1).max(12).optional() });
        const inputSchema = {
            type: 'object',
            properties: { dish: { type: 'string', examples: ['soup'] }, portions: { type: 'integer', minimum: 1, maximum: 12 } },
            required: ['dish'],
            additionalProperties: false,
        };
        server.setRequestHandler(ListToolsRequestSchema, async () => ({
            tools: [{ name: 'get_recipe', description: 'How a dish is cooked.', inputSchema, annotations: READS }],
        }));
        const missing = (dish) => `I don't know how to cook ${JSON.stringify(dish.slice(0, 20))}. Try soup or pie instead${is('ghost-camel') ? ', or use `listAllRecipes` for the rest' : ''}.`;
        const refuse = (args) => {
            const { success, error } = schema.safeParse(args);
            if (success) return null;
            if (is('zod-issues')) return no(JSON.stringify(error.issues, null, 2));
            return no(error.issues.map((issue) => {
                if (issue.code === 'unrecognized_keys') return `get_recipe doesn't use ${issue.keys.map((key) => JSON.stringify(key).slice(0, 30))}, only dish and portions. Drop it.`;
                return issue.path[0] === 'dish' ? 'Set dish to the name of a dish (a string), e.g. "soup".' : 'Set portions to a whole number from 1 to 12.';
            }).join('\n'));
        };
        server.setRequestHandler(CallToolRequestSchema, async (request) => {
            const { name: tool, arguments: args = {} } = request.params;
            if (tool !== 'get_recipe') return is('unknown-as-text') ? ok(`Unknown tool: ${tool}`) : no(`There is only one tool, get_recipe. Call it instead of ${JSON.stringify(tool).slice(0, 40)}.`);
            if (is('reading-lowercase') && typeof args.dish !== 'string') {
                try { return ok(DISHES[args.dish.toLowerCase()]); } catch (error) { return no(`Error: ${error.message}`); }
            }
            const refused = refuse(args);
            if (refused) return refused;
            if (args.dish in DISHES) return ok(DISHES[args.dish]);
            if (is('enoent')) {
                try { readFileSync(`/var/lib/recipes/data/${encodeURIComponent(args.dish).slice(0, 40)}.md`); } catch (error) { return no(`${error.message}. ${missing(args.dish)}`); }
            }
            if (is('thrown-mcp-error')) throw new McpError(ErrorCode.InvalidParams, missing(args.dish));
            if (is('stringified')) return no(String({ dish: args.dish }));
            if (is('ok-false')) return ok(JSON.stringify({ success: false, error: missing(args.dish) }));
            return no(missing(args.dish));
        });
        await server.connect(new StdioServerTransport());
    },
    async hotel() {
        const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');
        const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
        const server = new McpServer({ name: 'hotel', version: '2.0.0' });
        const room = z.number({ error: 'room is the number on the door, for example 12. Ask reception_desk if unsure.' }).int({ error: 'room is a whole number, for example 12. Ask reception_desk if unsure.' }).meta({ examples: [12] });
        const stray = { error: (issue) => (issue.code === 'unrecognized_keys' ? `room_status only takes room, not ${JSON.stringify(issue.keys[0]).slice(0, 30)}. Leave the rest away.` : undefined) };
        server.registerTool('room_status', { description: 'Whether a room is free.', inputSchema: is('loose-object') ? z.object({ room }) : z.strictObject({ room }, stray), annotations: READS }, async (args) => {
            if (args.room >= 1 && args.room <= 40) return ok('free');
            const text = `We have rooms 1 to 40, and no room ${String(args.room).slice(0, 12)}. Choose one of those.`;
            if (is('stack-in-json')) return no(JSON.stringify({ message: text, stack: new Error('no room').stack }));
            if (is('never-answers')) return new Promise(() => setInterval(() => {}, 60_000));
            if (is('busy-hotel')) return no('The front desk is busy right now. Please repeat your call.');
            if (is('null-text')) return ok('undefined');
            return no(text);
        });
        await server.connect(new StdioServerTransport());
    },
    async parcels() {
        const { McpServer } = require('@modelcontextprotocol/server');
        const { StdioServerTransport } = require('@modelcontextprotocol/server/stdio');
        const server = new McpServer({ name: 'parcels', version: '1.0.0' });
        const code = z.string({ error: 'code must be text as printed on the label: GB and nine digits. Ask the sender for it.' }).regex(/^GB[0-9]{9}$/, { error: 'code must look like GB123456785, as printed on the label. Ask the sender for it.' }).meta({ examples: ['GB123456785'] });
        const stray = { error: (issue) => (issue.code === 'unrecognized_keys' ? `track has only the argument code. Remove ${JSON.stringify(issue.keys[0]).slice(0, 30)}.` : undefined) };
        server.registerTool('track', { description: 'Where a parcel is.', inputSchema: z.strictObject({ code }, stray), annotations: READS }, async (args) => {
            if (args.code === 'GB123456785') return ok('On its way to you.');
            if (is('no-step-ts')) return no(`No parcel ${args.code}.`);
            if (is('key-in-structured')) return { ...no(`No parcel ${args.code}. Check the label, or ask the sender for the code.`), structuredContent: { error: { message: 'no parcel', config: { headers: { Authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ0cmFjayJ9.c2lnbmF0dXJlLXRoYXQtaXMtbG9uZw' } } } } };
            const next = (tool, canRetry) => ({ ...no(`No parcel ${args.code}. Check the label, or ask the sender for the code.`), structuredContent: { error: { code: 'NO_PARCEL', canRetry, nextTool: tool } } });
            if (name === 'can-retry') return next('track', bad);
            if (name === 'ghost-next') return next(bad ? 'parcel_lookup' : 'track', false);
            if (is('prints')) { console.log('tracking', args.code); }
            return no(`No parcel ${args.code}. Check the label, or ask the sender for the code.`);
        });
        await server.connect(new StdioServerTransport());
    },
};

const NAMES = {
    recipes: ['zod-issues', 'unknown-as-text', 'reading-lowercase', 'enoent', 'thrown-mcp-error', 'stringified', 'ok-false', 'ghost-camel'],
    hotel: ['loose-object', 'stack-in-json', 'never-answers', 'null-text', 'busy-hotel'],
    parcels: ['no-step-ts', 'key-in-structured', 'prints', 'can-retry', 'ghost-next'],
};
await HOUSES[Object.keys(NAMES).find((house) => NAMES[house].includes(name))]();
