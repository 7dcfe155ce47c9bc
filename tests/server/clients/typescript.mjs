// Calls the tools of one server with the official TypeScript client, and prints what came of each call as a line of JSON.
//
//     node typescript.mjs '{"sdk": 1, "calls": [["add", {"a": 1}]], "command": ["python", "server.py"]}'
//
// `sdk` is 1 or 2, `url` stands instead of `command` for a server that listens, and `pin` asks for one version of the
// protocol (version 2 only). A line holds the `result` of the call, or what was `thrown`.

const { sdk, calls, command, url, pin } = JSON.parse(process.argv[2]);

const V1 = '@modelcontextprotocol/sdk/client';
const V2 = '@modelcontextprotocol/client';
const { Client } = await import(sdk === 1 ? `${V1}/index.js` : V2);
const { StdioClientTransport } = await import(sdk === 1 ? `${V1}/stdio.js` : `${V2}/stdio`);
const { StreamableHTTPClientTransport } = await import(sdk === 1 ? `${V1}/streamableHttp.js` : V2);

const options = pin ? { versionNegotiation: { mode: { pin } } } : {};
const client = new Client({ name: 'failwell-tests', version: '1' }, options);
const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: 'ignore' });

await client.connect(transport);
try {
    // Only the output schemas of tools that were listed are held against results.
    await client.listTools();
    for (const [name, args] of calls) {
        let line;
        try {
            line = { result: await client.callTool({ name, arguments: args }) };
        } catch (error) {
            line = { thrown: { name: error.name, message: error.message, code: error.code, data: error.data } };
        }
        console.log(JSON.stringify(line));
    }
} finally {
    await client.close();
}
