import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "../../schema/schema.graphql",
  documents: ["src/operations.ts"],
  generates: { "src/gql/": { preset: "client", config: { useTypeImports: true, scalars: { JSON: "any", DateTime: "string", Date: "string", Decimal: "string" }, importExtension: ".js" } } },
  importExtension: ".js",
};

export default config;
