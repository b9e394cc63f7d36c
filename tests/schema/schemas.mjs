// The official schema of each revision with one interface: `fault(name, value)` is the reason why VALUE
// violates the definition NAME, `surplus(name, value)` a member that the revision does not know; both
// are null when there is none.
//
// The conformance suite contains the official JSON schemas from 2025-03-26 on, as literals in its one
// file. The first revision is older than the suite; its schemas are those of the official SDK of that
// time. Neither is copied into this project.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import * as sdkTypes from "sdk-of-2024-11-05/types.js";

const suite = new URL(
  "../node_modules/@modelcontextprotocol/conformance/dist/index.js",
  import.meta.url,
);

// The end of the literal that begins at START.
function endOfLiteral(text, start) {
  let depth = 0;
  let quote = null;
  for (let i = start; i < text.length; i++) {
    const character = text[i];
    if (quote) {
      if (character === "\\") i++;
      else if (character === quote) quote = null;
    } else if ("`\"'".includes(character)) quote = character;
    else if (character === "{") depth++;
    else if (character === "}" && --depth === 0) return i + 1;
  }
  return assert.fail("a literal without an end");
}

// Every JSON schema in the suite that has definitions.
function schemasInSuite() {
  const text = readFileSync(suite, "utf8");
  const found = text.matchAll(/=(\{\$schema:`[^`]*`,(?:definitions|\$defs):)/g);
  return Array.from(found, ({ index }) => {
    const literal = text.slice(index + 1, endOfLiteral(text, index + 1));
    return new Function(`return ${literal}`)();
  });
}

// Definitions by which the schema of a revision is recognized.
const marks = {
  "2025-03-26": ["JSONRPCBatchResponse"],
  "2025-06-18": ["ElicitRequest", "JSONRPCError"],
  "2025-11-25": ["Task"],
  "2026-07-28": ["DiscoverResult"],
};

// Members with arbitrary contents.
const free = new Set(["_meta", "inputSchema", "outputSchema"]);

class JsonSchema {
  validators = new Map();

  constructor(schema) {
    this.key = schema.$defs ? "$defs" : "definitions";
    this.definitions = schema[this.key];
    this.ajv = new (schema.$defs ? Ajv2020 : Ajv)({ strict: false });
    addFormats.default(this.ajv);
    this.ajv.addSchema(schema, "mcp");
  }

  has(name) {
    return name in this.definitions;
  }

  // The definition of the notification METHOD, or undefined.
  notification(method) {
    return Object.keys(this.definitions).find(
      (name) =>
        name.endsWith("Notification") &&
        name !== "ClientNotification" &&
        this.definitions[name].properties?.method?.const === method,
    );
  }

  fault(name, value) {
    let validate = this.validators.get(name);
    if (!validate) {
      validate = this.ajv.compile({ $ref: `mcp#/${this.key}/${name}` });
      this.validators.set(name, validate);
    }
    return validate(value) ? null : `${name}: ${this.ajv.errorsText(validate.errors)}`;
  }

  surplus(name, value) {
    return this.surplusIn({ $ref: `#/${this.key}/${name}` }, value, name);
  }

  resolve(node) {
    while (node?.$ref) node = this.definitions[node.$ref.split("/").at(-1)];
    return node;
  }

  surplusIn(unresolved, value, path) {
    const node = this.resolve(unresolved);
    if (Array.isArray(value)) {
      for (const element of value) {
        const found = node?.items && this.surplusIn(node.items, element, `${path}[]`);
        if (found) return found;
      }
      return null;
    }
    if (typeof value !== "object" || value === null || !node) return null;
    if (node.anyOf) {
      const fitting = node.anyOf.find((option) => this.ajv.validate(this.absolute(option), value));
      return fitting ? this.surplusIn(fitting, value, path) : null;
    }
    if (!node.properties || node.additionalProperties) return null;
    for (const [member, inside] of Object.entries(value)) {
      if (!(member in node.properties)) return `${path}.${member}`;
      if (free.has(member)) continue;
      const found = this.surplusIn(node.properties[member], inside, `${path}.${member}`);
      if (found) return found;
    }
    return null;
  }

  absolute(node) {
    return node.$ref ? { $ref: `mcp${node.$ref}` } : node;
  }
}

class SdkSchema {
  static notifications = {
    "notifications/message": "LoggingMessageNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/cancelled": "CancelledNotification",
  };

  has(name) {
    return `${name}Schema` in sdkTypes;
  }

  notification(method) {
    return SdkSchema.notifications[method];
  }

  fault(name, value) {
    const result = sdkTypes[`${name}Schema`].safeParse(value);
    return result.success ? null : `${name}: ${result.error.message}`;
  }

  surplus(name, value) {
    return this.surplusIn(sdkTypes[`${name}Schema`], value, name);
  }

  surplusIn(schema, value, path) {
    if (schema?._def.typeName === "ZodOptional") return this.surplusIn(schema.unwrap(), value, path);
    if (Array.isArray(value)) {
      for (const element of value) {
        const found = schema?.element && this.surplusIn(schema.element, element, `${path}[]`);
        if (found) return found;
      }
      return null;
    }
    if (typeof value !== "object" || value === null) return null;
    if (schema?.options) {
      const fitting = schema.options.find((option) => option.safeParse(value).success);
      return fitting ? this.surplusIn(fitting, value, path) : null;
    }
    const shape = schema?.shape;
    if (!shape || Object.keys(shape).length === 0) return null;
    for (const [member, inside] of Object.entries(value)) {
      if (!(member in shape)) return `${path}.${member}`;
      if (free.has(member)) continue;
      const found = this.surplusIn(shape[member], inside, `${path}.${member}`);
      if (found) return found;
    }
    return null;
  }
}

function findSchema(all, names) {
  const found = all.filter((schema) => {
    const definitions = schema.$defs ?? schema.definitions;
    return names.every((name) => name in definitions);
  });
  assert.equal(found.length, 1, `one schema defines ${names.join(" and ")}`);
  return new JsonSchema(found[0]);
}

const all = schemasInSuite();
assert.equal(sdkTypes.LATEST_PROTOCOL_VERSION, "2024-11-05");

export const schemas = {
  "2024-11-05": new SdkSchema(),
  ...Object.fromEntries(
    Object.entries(marks).map(([revision, names]) => [revision, findSchema(all, names)]),
  ),
};

export const modernRevision = "2026-07-28";
export const newestHandshake = "2025-11-25";
