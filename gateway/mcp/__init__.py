"""The MCP door: the tools, for any client of the Model Context Protocol, over streamable HTTP without sessions."""
