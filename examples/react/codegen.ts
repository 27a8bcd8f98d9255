import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "../../schema/schema.graphql",
  documents: ["src/operations.ts"],
  generates: {
    "src/gql/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: { useTypeImports: true, enumsAsTypes: true, scalars: { JSON: "unknown", DateTime: "string", Date: "string", Decimal: "string" } },
    },
  },
};

export default config;
