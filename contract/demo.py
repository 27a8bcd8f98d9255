"""Names the demo's organizations, the people in both, and who has left the first."""

SALES = "11111111-1111-4111-8111-111111111111"
PARTNERS = "22222222-2222-4222-8222-222222222222"
ADMIN = "user_demo_admin"
MEMBER = "user_demo_member"
VIEWER = "user_demo_viewer"
FORMER = "user_demo_former"
