"""Names the secret files of the data folder, for those who look after them without reading them."""

from typing import Final

SIGNING_KEY_FILE: Final = "signing-key.pem"
PREVIOUS_KEY_FILE: Final = "signing-key.previous.pem"
PEPPER_FILE: Final = "pepper"
PREVIOUS_PEPPER_FILE: Final = "pepper.previous"
KEY_FILES: Final = (SIGNING_KEY_FILE, PREVIOUS_KEY_FILE, PEPPER_FILE, PREVIOUS_PEPPER_FILE)
