// node server.mjs NAME MCPB URL: prints server.json for the registry of MCP servers. NAME is the name there, such as
// io.github.OWNER/eclave, MCPB the bundle, and URL where it can be fetched.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [name, bundle, url] = process.argv.slice(2);
const about = JSON.parse(readFileSync(new URL('about.json', import.meta.url), 'utf8'));
const transport = { type: 'stdio' };
console.log(JSON.stringify({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name,
  title: about.title,
  description: about.description,
  version: about.version,
  ...(about.homepage && { websiteUrl: about.homepage }),
  packages: [
    { registryType: 'npm', identifier: about.name, version: about.version, transport },
    {
      registryType: 'mcpb',
      identifier: url,
      fileSha256: createHash('sha256').update(readFileSync(bundle)).digest('hex'),
      transport,
    },
  ],
}, null, 2));
