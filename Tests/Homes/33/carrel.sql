PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_version (
    version BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied BIGINT NOT NULL
);
INSERT INTO schema_version VALUES(1,'accounts, titles, orders, listening','ac6f61d1fc1ecfc5',1795877989157);
INSERT INTO schema_version VALUES(2,'passwords, devices, plans, subscriptions, editions, audit','b3f62290c44c58d5',1795877989179);
INSERT INTO schema_version VALUES(3,'editions'' content, revoked credentials','7ddd87670d03c7d7',1795877989183);
INSERT INTO schema_version VALUES(4,'app passwords, erased accounts','33f23b54e63a8dc1',1795877989191);
INSERT INTO schema_version VALUES(5,'roles of accounts, setup links','f59cae3f2322ea50',1795877989195);
INSERT INTO schema_version VALUES(6,'revoked credentials','84004680995eddca',1795877989199);
INSERT INTO schema_version VALUES(7,'identities at providers','42d081d6421c7a8e',1795877989207);
INSERT INTO schema_version VALUES(8,'cached responses of upstream systems','b06fcf13e9e8a4dd',1795877989211);
INSERT INTO schema_version VALUES(9,'ends of sessions and counters, networks that accounts sign in from','74b076eeb6b2220c',1795877989215);
INSERT INTO schema_version VALUES(10,'purchases in app stores','cfc28699b69f3912',1795877989219);
INSERT INTO schema_version VALUES(11,'subscriptions that were revoked, how often devices left','8e36f73a6c55b546',1795877989223);
INSERT INTO schema_version VALUES(12,'indexes of the audit log','7f0302c456e308e3',1795877989232);
INSERT INTO schema_version VALUES(13,'given names of devices, tokens by upstream user','c6ee295e82591eda',1795877989235);
INSERT INTO schema_version VALUES(14,'the ISBNs that orders were placed by','ece9edf788c86d30',1795877989239);
INSERT INTO schema_version VALUES(15,'pages of the audit log','22a30845183c8232',1795877989241);
INSERT INTO schema_version VALUES(16,'the numbers that clients gave to subscriptions and purchases','a321e116b433945c',1795877989247);
INSERT INTO schema_version VALUES(17,'the identities that accounts were created with','6e9f8575e0821b57',1795877989255);
INSERT INTO schema_version VALUES(18,'the installation','0e01568989e9da32',1795877989259);
INSERT INTO schema_version VALUES(19,'the index of the catalog','6c77a79592e84c1c',1795877989263);
INSERT INTO schema_version VALUES(20,'kinds of counters','ad81bdf2a78ca3fe',1795877989270);
INSERT INTO schema_version VALUES(21,'fingerprints of the master keys, and the nodes that hold them','82f10a7c4aff557d',1795877989275);
INSERT INTO schema_version VALUES(22,'contents of several products, when pages changed','84b80e8c06e997bc',1795877989277);
INSERT INTO schema_version VALUES(23,'where the audit log begins and how far it is archived','ee692671d8e29dfb',1795877989285);
INSERT INTO schema_version VALUES(24,'which editions the index of the catalog is behind with','002fd733185b7a52',1795877989287);
INSERT INTO schema_version VALUES(25,'the certificate authority and players','128f92ab24e56406',1795877989295);
INSERT INTO schema_version VALUES(26,'licenses, tokens and content keys','2e5eeba170ebde86',1795877989308);
INSERT INTO schema_version VALUES(27,'licenses of titles, communication keys','644d41d51864a966',1795877989315);
INSERT INTO schema_version VALUES(28,'codes for linking players','a17de6e5689e91e1',1795877989320);
INSERT INTO schema_version VALUES(29,'ends of revoked rights, licenses and redemptions','9dcfa5d58a598c9b',1795877989324);
INSERT INTO schema_version VALUES(30,'ends of players, licenses and rentals','0b80fab8d4664e24',1795877989336);
INSERT INTO schema_version VALUES(31,'owners of content keys and issuers of redeemed tokens','3b181c141b57f902',1795877989344);
INSERT INTO schema_version VALUES(32,'players without an account and a license','fd0bf28b27215c26',1795877989348);
INSERT INTO schema_version VALUES(33,'indexes of what few licenses and redemptions have','bde84246254304bd',1795877989351);
CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY, master_version BIGINT NOT NULL, wrapped BLOB NOT NULL);
INSERT INTO secrets VALUES('feed',1,X'ef756b575eed7e8478274b9360467ea02ae18c6368fa317673585ad745495ae9ff33b3cf6632e665');
INSERT INTO secrets VALUES('renewal',1,X'29db7880a36efe281caf7ea83088f4f94c3ddcc472d5789cc2f0072e558336e45a04a5328fe64485');
INSERT INTO secrets VALUES('audit',1,X'ba9772759bbf4d22de20a1cb8cdb081dbe3c16f89f72524ba732d49d4bb9f35f81db17c0da8385f7');
INSERT INTO secrets VALUES('throttle',1,X'f0958bbf34badae463c4c203a8a58bc674d25cd245841771d69540381809e8362f0931b4e5fdd343');
INSERT INTO secrets VALUES('upstream',1,X'179444193a1f742703cc89c5fca822edd8e82f065f74fc97ce5f37cacc42169b37162e4b02b80c45');
INSERT INTO secrets VALUES('sign-on',1,X'700ab49fc9d900ddfb1f290c4c2d0183301b9f7250265b778d2c658c24a6f88f975cb7e02ce4bc15');
INSERT INTO secrets VALUES('challenge',1,X'9e3aad73d3af31bc295b6492d01ef8f49379e43bdfe7cb93dd3b86eae8578aba1ebbe699897f7199');
INSERT INTO secrets VALUES('token/1',1,X'3a0ead76a0de8b39e3f0ddef85c10e1f9872f43c4adefefe6b67c22d1644414af33c8b272bca7249ce2b1995e82a1b35');
INSERT INTO secrets VALUES('message/1',1,X'5c4049bb548fc72c023533fb05ffb148eb8dacb9c95d773e8ca1de32b2cf046eaed6a78dbd0dd9c3be2500a72e8b20ce');
INSERT INTO secrets VALUES('ticket/1',1,X'c860f295bddbfd99dabbabfe24322657a82d178fce76b4e1f762103687834923684dcd1e15dc71190f04d4278132e166');
INSERT INTO secrets VALUES('credential/1',1,X'c3c9d59d526e938a372bda88fb31069eb6b44e7c1f008b85ef2abdc0a4dd4e001a5cfdd003f31ad0bc6c4a20f7a87df2');
CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_at BIGINT NOT NULL, password TEXT, suspended_at BIGINT, device_limit BIGINT, erased_at BIGINT, role TEXT);
INSERT INTO accounts VALUES('e1cc7803-b6ae-4d55-9666-5daae56e3d95','alice',1795878011281,'$argon2id$v=19$m=47104,t=1,p=1$fyTf0v3YBZDjt7XrTM4SGA$avZf5F25Zq+e8aP8tT8D/Siq1WlCw7tEE2zmcXtPPew',NULL,NULL,NULL,NULL);
CREATE TABLE service_keys (
    id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, token_hash BLOB NOT NULL UNIQUE,
    created_at BIGINT NOT NULL, revoked_at BIGINT);
CREATE TABLE sessions (
    token_hash BLOB NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
    purpose TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, family TEXT NOT NULL DEFAULT '', device_id TEXT, seen_at BIGINT NOT NULL DEFAULT 0, renewed_at BIGINT);
CREATE TABLE titles (
    id TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, isbn TEXT, source_hash BLOB NOT NULL UNIQUE,
    title TEXT NOT NULL, metadata TEXT NOT NULL, duration_ms BIGINT NOT NULL,
    media_blob TEXT NOT NULL, segment_index BLOB NOT NULL,
    cover_blob TEXT, cover_type TEXT, sample_blob TEXT, sample_ms BIGINT,
    created_at BIGINT NOT NULL, content_hash BLOB);
INSERT INTO titles VALUES('da980a4c-7159-4293-9d92-33b6ee5dbbef','audiobook',NULL,X'7e9e1890a0538fcaa172f24093eceee381133767ce45bab51a1ac6dadc151d04','Three Seconds','{"title":"Three Seconds","subtitle":null,"authors":[],"narrators":[],"publisher":null,"language":null,"description":null,"published":null,"isbn":null,"chapters":[]}',3000,'289331aed32384aa786701c81480532e9a7bf043249c1b2d90349d522ce268a7',X'010101a2ac0101ff0275d1088901c25f04',NULL,NULL,'41c700faa33db74ec66ebc1024efca0ad556ff694960f08f3e645472b76d2413',3030,1795877990016,X'7e9e1890a0538fcaa172f24093eceee381133767ce45bab51a1ac6dadc151d04');
CREATE TABLE orders (
    id TEXT NOT NULL PRIMARY KEY, number TEXT UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id), title_id TEXT NOT NULL REFERENCES titles (id),
    kind TEXT NOT NULL, state TEXT NOT NULL, starts_at BIGINT, ends_at BIGINT,
    created_at BIGINT NOT NULL, activated_at BIGINT, ended_at BIGINT,
    master_version BIGINT NOT NULL, wrapped_key BLOB NOT NULL, isbn TEXT, play_seconds BIGINT);
INSERT INTO orders VALUES('eccc69e2-5c4e-4c0e-aee2-c1bea2f974bf','1001','e1cc7803-b6ae-4d55-9666-5daae56e3d95','da980a4c-7159-4293-9d92-33b6ee5dbbef','sale','ready',NULL,NULL,1795878011845,NULL,NULL,1,X'df65e8cc601870a4d00ab5bb4e4105d95c64de6578edf199',NULL,NULL);
CREATE TABLE intervals (
    order_id TEXT NOT NULL REFERENCES orders (id),
    start_utc BIGINT NOT NULL, end_utc BIGINT NOT NULL,
    start_position BIGINT NOT NULL, end_position BIGINT NOT NULL,
    effective_end BIGINT NOT NULL, received_at BIGINT NOT NULL,
    end_position_ms BIGINT, device_id TEXT, device_name TEXT, speed DOUBLE PRECISION,
    PRIMARY KEY (order_id, start_utc, end_utc, start_position, end_position));
CREATE TABLE bookmarks (
    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
    title_id TEXT NOT NULL REFERENCES titles (id), position_ms BIGINT NOT NULL, note TEXT NOT NULL,
    created_at BIGINT NOT NULL);
CREATE TABLE devices (
    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
    key_hash BLOB NOT NULL, name TEXT NOT NULL, created_at BIGINT NOT NULL, seen_at BIGINT NOT NULL,
    freed_at BIGINT, taken_at BIGINT, departures BIGINT NOT NULL DEFAULT 0, departed_at BIGINT, given_name TEXT, held_until BIGINT, UNIQUE (account_id, key_hash));
CREATE TABLE throttle (
    key BLOB NOT NULL PRIMARY KEY, failures BIGINT NOT NULL, until_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL, seen BLOB NOT NULL, expires_at BIGINT NOT NULL DEFAULT 0, kind TEXT NOT NULL DEFAULT '', account_hash BLOB, network_hash BLOB);
CREATE TABLE plans (
    name TEXT NOT NULL PRIMARY KEY, scope TEXT NOT NULL, grace_issues BIGINT NOT NULL, device_limit BIGINT,
    created_at BIGINT NOT NULL);
CREATE TABLE plan_products (
    plan TEXT NOT NULL REFERENCES plans (name), product_id TEXT NOT NULL, PRIMARY KEY (plan, product_id));
CREATE TABLE subscriptions (
    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
    plan TEXT NOT NULL REFERENCES plans (name), starts_at BIGINT NOT NULL, ends_at BIGINT,
    created_at BIGINT NOT NULL, revoked_at BIGINT, number TEXT, asked_start BIGINT, asked_end BIGINT);
CREATE TABLE purchases (
    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
    product_id TEXT NOT NULL, kind TEXT NOT NULL, ends_at BIGINT, created_at BIGINT NOT NULL, number TEXT, asked_end BIGINT);
CREATE TABLE editions (
    title_id TEXT NOT NULL PRIMARY KEY REFERENCES titles (id), product_id TEXT NOT NULL UNIQUE,
    price TEXT NOT NULL, state TEXT NOT NULL, issued_at BIGINT NOT NULL, published_at BIGINT,
    withdrawn_at BIGINT, updated_at BIGINT NOT NULL, content_at BIGINT NOT NULL DEFAULT 0, byte_count BIGINT NOT NULL DEFAULT 0, entry_path TEXT NOT NULL DEFAULT '', resource_count BIGINT NOT NULL DEFAULT 0, sample_count BIGINT NOT NULL DEFAULT 0, language TEXT NOT NULL DEFAULT '', search_title TEXT NOT NULL DEFAULT '', search_author TEXT NOT NULL DEFAULT '', search_text TEXT NOT NULL DEFAULT '', search_version BIGINT NOT NULL DEFAULT 0, search_id BIGINT, search_at BIGINT NOT NULL DEFAULT 0);
CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
    subject TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, request_id TEXT NOT NULL,
    number BIGINT UNIQUE, seal BLOB);
INSERT INTO audit VALUES('01a222ab-6a88-7754-a1cb-3e1172366db5',1795877989000,'server','pki.init','live','allowed','','',1,X'0637deaead7376515ca244808f5e2f36f0b9b4644174d349cf5d5d972cf3d78f');
INSERT INTO audit VALUES('01a222ab-6e80-72b4-a4f3-5a23c453b4e7',1795877990016,'operator','title.ingest','da980a4c-7159-4293-9d92-33b6ee5dbbef','allowed','','in-process',2,X'4c414f3eb1acd994004e402476f8d71a8f050e2b3a296c73c1d51b509eed467b');
INSERT INTO audit VALUES('01a222ab-c191-7bd9-b56f-f47605669c6a',1795878011281,'operator','account.create','e1cc7803-b6ae-4d55-9666-5daae56e3d95','allowed','','in-process',3,X'8abc8a5cfa3f264e5a4d642c670bdc68a7d95e96929c88d16dcd656531d737a5');
INSERT INTO audit VALUES('01a222ab-c3c5-7332-98df-cbcfa81d2839',1795878011845,'operator','order.create','e1cc7803-b6ae-4d55-9666-5daae56e3d95','allowed','da980a4c-7159-4293-9d92-33b6ee5dbbef','in-process',4,X'1af8a597d080e25728224990048bd4c8dad07f2018f630650ec2524f455698bc');
INSERT INTO audit VALUES('01a222ab-c467-73de-9dac-c7957414c691',1795878012007,'operator','content-key.add','a1a2a3a4a5a6a7a8a9aaabacadaeafb0','allowed','','in-process',5,X'86d4bcdd9b40ee56e706abd4e56b318074f22a7b151c43f792ed8963d6b3e630');
INSERT INTO audit VALUES('01a222ab-c51a-74ea-aa49-88927349eeec',1795878012186,'operator','token.issue','c1a41787aa594d152f589205d1a2f337','allowed','da980a4c-7159-4293-9d92-33b6ee5dbbef','in-process',6,X'957d187c2fcf81e6def1ec99d93e242ed3793ef95adc33ec8c808cd2281e0b32');
CREATE TABLE edition_resources (
    title_id TEXT NOT NULL REFERENCES titles (id), path TEXT NOT NULL, place BIGINT NOT NULL,
    media_type TEXT NOT NULL, byte_offset BIGINT NOT NULL, byte_count BIGINT NOT NULL, digest TEXT NOT NULL,
    is_sample BIGINT NOT NULL, changed_at BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (title_id, path));
CREATE TABLE app_passwords (
    id TEXT NOT NULL PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), name TEXT NOT NULL,
    scopes TEXT NOT NULL, secret_hash BLOB NOT NULL UNIQUE, created_at BIGINT NOT NULL, seen_at BIGINT,
    expires_at BIGINT);
CREATE TABLE setup_links (
    token_hash BLOB NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL);
CREATE TABLE credential_serial (serial BIGINT NOT NULL PRIMARY KEY);
INSERT INTO credential_serial VALUES(1);
CREATE TABLE revocations (
    kind TEXT NOT NULL, subject TEXT NOT NULL, serial BIGINT NOT NULL, revoked_at BIGINT NOT NULL,
    PRIMARY KEY (kind, subject));
CREATE TABLE identities (
    issuer TEXT NOT NULL, subject TEXT NOT NULL, account_id TEXT NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL, seen_at BIGINT NOT NULL, proven BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (issuer, subject));
CREATE TABLE used_sign_ons (id_hash BLOB NOT NULL PRIMARY KEY, expires_at BIGINT NOT NULL);
CREATE TABLE upstream_tokens (
    token_hash BLOB NOT NULL PRIMARY KEY, source TEXT NOT NULL, subject TEXT NOT NULL, state TEXT NOT NULL,
    confirmed_at BIGINT NOT NULL);
CREATE TABLE upstream_accounts (
    subject TEXT NOT NULL PRIMARY KEY, is_suspended BIGINT NOT NULL, answer BLOB, answered_at BIGINT,
    updated_at BIGINT NOT NULL);
CREATE TABLE upstream_grants (
    subject TEXT NOT NULL, product_id TEXT NOT NULL, granted_at BIGINT NOT NULL,
    PRIMARY KEY (subject, product_id));
CREATE TABLE sign_in_networks (key BLOB NOT NULL PRIMARY KEY, seen_at BIGINT NOT NULL);
CREATE TABLE store_purchases (
    environment TEXT NOT NULL, original_id TEXT NOT NULL, account_id TEXT NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL, PRIMARY KEY (environment, original_id));
CREATE TABLE store_transactions (
    environment TEXT NOT NULL, transaction_id TEXT NOT NULL, original_id TEXT NOT NULL,
    bundle_id TEXT NOT NULL, product_id TEXT NOT NULL, kind TEXT NOT NULL, purchased_at BIGINT NOT NULL,
    expires_at BIGINT, revoked_at BIGINT, upgraded BIGINT NOT NULL, signed_at BIGINT NOT NULL,
    PRIMARY KEY (environment, transaction_id));
CREATE TABLE audit_pages (
    id TEXT NOT NULL PRIMARY KEY, first_at BIGINT NOT NULL, at BIGINT NOT NULL, filter BLOB NOT NULL,
    entries BLOB NOT NULL);
CREATE TABLE installation (
    place BIGINT NOT NULL PRIMARY KEY CHECK (place = 1), id TEXT NOT NULL, created_at BIGINT NOT NULL);
INSERT INTO installation VALUES(1,'225bf7f3-442c-4ff7-a369-66785b2ca241',1795877989374);
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','edition_search','edition_search',0,'CREATE VIRTUAL TABLE edition_search USING fts5 (grams, detail = none, columnsize = 0, tokenize = ''ascii'')');
CREATE TABLE IF NOT EXISTS 'edition_search_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO edition_search_data VALUES(1,X'');
INSERT INTO edition_search_data VALUES(10,X'00000000000000');
CREATE TABLE IF NOT EXISTS 'edition_search_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS 'edition_search_content'(id INTEGER PRIMARY KEY, c0);
CREATE TABLE IF NOT EXISTS 'edition_search_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO edition_search_config VALUES('version',4);
CREATE TABLE master_keys (
    version BIGINT NOT NULL PRIMARY KEY, fingerprint BLOB NOT NULL, added_at BIGINT NOT NULL,
    activated_at BIGINT);
INSERT INTO master_keys VALUES(1,X'970921bbb468377118bcfa769f04414f6b74e4ea770032a9b5715cd18243c223',1795877989387,1795877989387);
CREATE TABLE nodes (
    id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, seen_at BIGINT NOT NULL, master_versions TEXT NOT NULL);
CREATE TABLE audit_marks (
    name TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL, seal BLOB NOT NULL, mac BLOB NOT NULL);
CREATE TABLE pki_keys (
    id TEXT NOT NULL PRIMARY KEY, key_use TEXT NOT NULL, created_at BIGINT NOT NULL, valid_from BIGINT NOT NULL,
    valid_until BIGINT NOT NULL, certificate BLOB, rollover TEXT, master_version BIGINT NOT NULL,
    wrapped BLOB NOT NULL);
INSERT INTO pki_keys VALUES('6RRwAmNPLmoR2cmaAuktOyH6iJFCtaXsdq9HNVYXcjk','root',1795877989000,1795877989000,2426597989000,X'3082017d30820123a00302010202104ac88c20203ab14d0530b062d4910656300a06082a8648ce3d040302301d311b301906035504030c1243617272656c20726f6f7420286c69766529301e170d3236313132383134353934395a170d3436313132333134353934395a301d311b301906035504030c1243617272656c20726f6f7420286c697665293059301306072a8648ce3d020106082a8648ce3d03010703420004bbe717ddaca9359ad3a42c662f07b97139dd8dca5d1e67012850d036473e7ecb4cfb444bf5aa769a9572a6ed9882b188cbe5b69512b1dc57a7d892da25e2da9aa3453043301d0603551d0e041604140446eb3da60b9f732c6c9e02c9fd12e77084e74830120603551d130101ff040830060101ff020101300e0603551d0f0101ff040403020106300a06082a8648ce3d04030203480030450221009e736ace75190d6b9143e1f27f7c79715f619677de8379dfd16a95abbf723ba402207ec367e0e62748c79b33f4d880d99ef2015d27429d1b6416643d697a305c7692',NULL,1,X'93ef1e585219ee3a2b198a834c893bdbcc60d7f85fe8123a9fd375d21d77a339c5954d60ecbb7339');
INSERT INTO pki_keys VALUES('Rwl5nYK1U0flppCdQF1hl3kBj8QshaVWEpFA_tQVvp8','devices',1795877989000,1795877989000,2111237989000,X'308201a030820147a00302010202105bca33387fa5f3679030a9c208929169300a06082a8648ce3d040302301d311b301906035504030c1243617272656c20726f6f7420286c69766529301e170d3236313132383134353934395a170d3336313132353134353934395a3020311e301c06035504030c1543617272656c206465766963657320286c697665293059301306072a8648ce3d020106082a8648ce3d030107034200046d83bd991eeb7daec30f81dfb13c184420bf9205130ed44fb9543b42216bcb6b6592a8a7f7a543db032278fb4cbdeca26dc2962240607a4c6e30f6e772137c62a3663064301d0603551d0e04160414752cd2100338ae5c78ebb4138377b311403aebf3301f0603551d230418301680140446eb3da60b9f732c6c9e02c9fd12e77084e74830120603551d130101ff040830060101ff020100300e0603551d0f0101ff040403020106300a06082a8648ce3d0403020347003044022005264d531298ceb3f611e204f854b6e4644ca9d53692ea02b6983e1272e5357b02201ffcf4f93ff8c7d814d964bbef2bd570c3f6214edd75606632d17804e4f05e37',NULL,1,X'4c53fdfa145cb669902b9b9af6dae3f4406a417504bdef9e0bb4255b9f7d26451014640c9a3854e5');
INSERT INTO pki_keys VALUES('bUfFU8JvJE3dGnemoo8wV_PLxoX1lu06_w2zxJJ7qR4','license',1795877989000,1795877989000,1953557989000,NULL,NULL,1,X'c3ecb1e16ba022670ea2e7503cf96b69a28a1a90369efcfdc8e1ad62838dfc35d410606d6ab87e81');
INSERT INTO pki_keys VALUES('TljImzd3B2QdyDelw7LcqPcnMEuDtZcosrz0-8WVk28','agreement',1795877989000,1795877989000,1953557989000,NULL,NULL,1,X'17a462d29efd01ddfcf86291f0adba36870b5848a9af5ccf41f5dce34010044b077ea29984d977fb');
INSERT INTO pki_keys VALUES('Fq60-S3UtgKdhFKw68bLS6ZNPqPaSjpSTg7bVoUfQEA','revocation',1795877989000,1795877989000,1953557989000,NULL,NULL,1,X'd6e7b6beb4874590f4bfa2c3a11c0d0f6819406b286802bbad96550a95f3d8b609aece438597479b');
INSERT INTO pki_keys VALUES('oFErThe0itQD-1Th3co69iMKMH6WfIHkLPhr5Xa0WNE','time',1795877989000,1795877989000,1953557989000,NULL,NULL,1,X'f4b4aeaffe6b95c28139da585db4954abe9cdece1110698a9b7d90583fbf2380df26517ecbddd576');
CREATE TABLE pki_documents (
    number BIGINT NOT NULL PRIMARY KEY, environment TEXT NOT NULL, signed_at BIGINT NOT NULL, text TEXT NOT NULL);
INSERT INTO pki_documents VALUES(1,'live',1795877989000,'eyJhbGciOiJFUzI1NiIsInR5cCI6ImNway1rZXlzK2p3dCIsImtpZCI6IjZSUndBbU5QTG1vUjJjbWFBdWt0T3lINmlKRkN0YVhzZHE5SE5WWVhjamsifQ.eyJlbnYiOiJsaXZlIiwibnVtYmVyIjoxLCJpYXQiOjE3OTU4Nzc5ODksImV4cCI6MTk1MzU1Nzk4OSwia2V5cyI6W3siY3J2IjoiRWQyNTUxOSIsImt0eSI6Ik9LUCIsIngiOiJMU0lTV3RsNk9WYjN0SWpuU3dkb3htNF9FemNuWXMxaVNKWlhRaVY5bjZZIiwia2lkIjoiYlVmRlU4SnZKRTNkR25lbW9vOHdWX1BMeG9YMWx1MDZfdzJ6eEpKN3FSNCIsInVzZSI6ImxpY2Vuc2UiLCJuYmYiOjE3OTU4Nzc5ODksImV4cCI6MTk1MzU1Nzk4OX0seyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6IllKNVdlMUhwWktDeElHNzY0U1Byb2JVY19VMzNBYmRLR2g2d0owcFZFS0UiLCJ5IjoiUkhhZmN0S2hxR0Jsc3NodC1pS2w1R2FKTkVBaEJwaFBRMzNXYk53bjFPQSIsImtpZCI6IlRsakltemQzQjJRZHlEZWx3N0xjcVBjbk1FdUR0WmNvc3J6MC04V1ZrMjgiLCJ1c2UiOiJhZ3JlZW1lbnQiLCJuYmYiOjE3OTU4Nzc5ODksImV4cCI6MTk1MzU1Nzk4OX0seyJjcnYiOiJFZDI1NTE5Iiwia3R5IjoiT0tQIiwieCI6IkU1aEpaRjIwbEFOWFRQajlwUFV5SjNLWXlfN2ZGcVlUNy1jN2xSbWxMZ2siLCJraWQiOiJGcTYwLVMzVXRnS2RoRkt3NjhiTFM2Wk5QcVBhU2pwU1RnN2JWb1VmUUVBIiwidXNlIjoicmV2b2NhdGlvbiIsIm5iZiI6MTc5NTg3Nzk4OSwiZXhwIjoxOTUzNTU3OTg5fSx7ImNydiI6IkVkMjU1MTkiLCJrdHkiOiJPS1AiLCJ4IjoiT0NYWFl0dFYxYjlvMjFMTndHdFVDcUhXZXAtTUpuM3RLdkt5UVo5cGY1ZyIsImtpZCI6Im9GRXJUaGUwaXRRRC0xVGgzY282OWlNS01INldmSUhrTFBocjVYYTBXTkUiLCJ1c2UiOiJ0aW1lIiwibmJmIjoxNzk1ODc3OTg5LCJleHAiOjE5NTM1NTc5ODl9XSwiYXV0aG9yaXRpZXMiOlsiTUlJQm9EQ0NBVWVnQXdJQkFnSVFXOG96T0grbDgyZVFNS25DQ0pLUmFUQUtCZ2dxaGtqT1BRUURBakFkTVJzd0dRWURWUVFEREJKRFlYSnlaV3dnY205dmRDQW9iR2wyWlNrd0hoY05Nall4TVRJNE1UUTFPVFE1V2hjTk16WXhNVEkxTVRRMU9UUTVXakFnTVI0d0hBWURWUVFEREJWRFlYSnlaV3dnWkdWMmFXTmxjeUFvYkdsMlpTa3dXVEFUQmdjcWhrak9QUUlCQmdncWhrak9QUU1CQndOQ0FBUnRnNzJaSHV0OXJzTVBnZCt4UEJoRUlMK1NCUk1PMUUrNVZEdENJV3ZMYTJXU3FLZjNwVVBiQXlKNCsweTk3S0p0d3BZaVFHQjZURzR3OXVkeUUzeGlvMll3WkRBZEJnTlZIUTRFRmdRVWRTelNFQU00cmx4NDY3UVRnM2V6RVVBNjYvTXdId1lEVlIwakJCZ3dGb0FVQkViclBhWUxuM01zYko0Q3lmMFM1M0NFNTBnd0VnWURWUjBUQVFIL0JBZ3dCZ0VCL3dJQkFEQU9CZ05WSFE4QkFmOEVCQU1DQVFZd0NnWUlLb1pJemowRUF3SURSd0F3UkFJZ0JTWk5VeEtZenJQMkVlSUUrRlMyNUdSTXFkVTJrdW9DdHBnK0VuTGxOWHNDSUIvODlQay8rTWZZRk5sa3UrOHIxWEREOWlGTzNYVmdaakxSZUFUazhGNDMiXX0.y47vtCxZN-lKRDhPs30IELKCAOtuTqRIbuWzVSM_zCQrPaaf-0czUYCCJ8kQH20mbMlH6k9uRIaQhhB4_h4QZQ');
CREATE TABLE players (
    id TEXT NOT NULL PRIMARY KEY, sign_key TEXT NOT NULL UNIQUE, agree_key TEXT NOT NULL UNIQUE,
    agree_point BLOB NOT NULL, fingerprint BLOB NOT NULL UNIQUE, level TEXT NOT NULL, app TEXT NOT NULL,
    build TEXT NOT NULL, name TEXT NOT NULL, account_id TEXT REFERENCES accounts (id),
    device_id TEXT REFERENCES devices (id), link_expires_at BIGINT, created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, suspended_at BIGINT, suspended_by TEXT,
    revoked_at BIGINT, licensed_until BIGINT, list_version BIGINT NOT NULL DEFAULT 1, revoked_by TEXT, link_family TEXT, licensed_at BIGINT);
CREATE TABLE player_certificates (
    serial TEXT NOT NULL PRIMARY KEY, thumbprint BLOB NOT NULL UNIQUE,
    player_id TEXT NOT NULL REFERENCES players (id), valid_until BIGINT NOT NULL, certificate BLOB NOT NULL);
CREATE TABLE player_nonces (nonce BLOB NOT NULL PRIMARY KEY, expires_at BIGINT NOT NULL);
CREATE TABLE revoked_rights (
    kind TEXT NOT NULL, id TEXT NOT NULL, revoked_at BIGINT NOT NULL, until BIGINT, by_staff BIGINT NOT NULL DEFAULT 0, suspended_for TEXT, PRIMARY KEY (kind, id));
CREATE TABLE rights_numbers (name TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL);
CREATE TABLE content_keys (
    kid TEXT NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, master_version BIGINT NOT NULL, wrapped BLOB NOT NULL, owner TEXT);
INSERT INTO content_keys VALUES('a1a2a3a4a5a6a7a8a9aaabacadaeafb0',1795878012007,1,X'2623e85b74df25eb0aefe8aec7d3044fae684b7d64ba264d',NULL);
CREATE TABLE licenses (
    id TEXT NOT NULL PRIMARY KEY, player_id TEXT NOT NULL, subject TEXT NOT NULL, content_id TEXT NOT NULL,
    session TEXT NOT NULL, sequence BIGINT NOT NULL, terms TEXT NOT NULL, obligations TEXT NOT NULL,
    kids TEXT NOT NULL, issued_at BIGINT NOT NULL, lease_until BIGINT, ended_at BIGINT, ended_by TEXT,
    plays BIGINT NOT NULL, master_version BIGINT NOT NULL, wrapped BLOB NOT NULL, order_id TEXT, until BIGINT, token_id TEXT);
CREATE TABLE redemptions (
    token_id TEXT NOT NULL, player_id TEXT NOT NULL, license_id TEXT NOT NULL, redeemed_at BIGINT NOT NULL,
    content_id TEXT NOT NULL, cookie TEXT, expires_at BIGINT NOT NULL, ended_by TEXT, issuer TEXT, PRIMARY KEY (token_id, player_id));
CREATE TABLE communication_keys (
    id TEXT NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, master_version BIGINT NOT NULL, wrapped BLOB NOT NULL, owner TEXT);
CREATE TABLE link_codes (
    device_code BLOB NOT NULL PRIMARY KEY, user_code TEXT NOT NULL UNIQUE, player_id TEXT NOT NULL,
    network TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, state TEXT NOT NULL, site TEXT NOT NULL DEFAULT '');
CREATE TABLE guests (
    player_id TEXT NOT NULL PRIMARY KEY, site TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL);
CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX titles_by_isbn ON titles (isbn);
CREATE INDEX orders_by_account ON orders (account_id, created_at);
CREATE INDEX orders_by_created ON orders (created_at, id);
CREATE INDEX intervals_by_latest ON intervals
    (order_id, effective_end, start_utc, end_position, end_utc, start_position);
CREATE INDEX bookmarks_by_title ON bookmarks (account_id, title_id, position_ms);
CREATE INDEX sessions_by_family ON sessions (family);
CREATE INDEX subscriptions_by_account ON subscriptions (account_id, starts_at);
CREATE INDEX purchases_by_account ON purchases (account_id, created_at);
CREATE INDEX editions_by_issue ON editions (issued_at, product_id);
CREATE INDEX audit_by_time ON audit (at, id);
CREATE INDEX editions_by_update ON editions (updated_at);
CREATE INDEX app_passwords_by_account ON app_passwords (account_id, created_at);
CREATE INDEX sessions_by_purpose ON sessions (purpose, created_at);
CREATE INDEX revocations_by_serial ON revocations (serial);
CREATE INDEX revocations_by_time ON revocations (revoked_at);
CREATE INDEX identities_by_account ON identities (account_id);
CREATE INDEX used_sign_ons_by_end ON used_sign_ons (expires_at);
CREATE INDEX upstream_tokens_by_time ON upstream_tokens (confirmed_at);
CREATE INDEX upstream_accounts_by_time ON upstream_accounts (updated_at);
CREATE INDEX upstream_grants_by_time ON upstream_grants (granted_at);
CREATE INDEX sessions_by_end ON sessions (expires_at);
CREATE INDEX sessions_by_device ON sessions (device_id);
CREATE INDEX sign_in_networks_by_time ON sign_in_networks (seen_at);
CREATE INDEX throttle_by_end ON throttle (expires_at);
CREATE INDEX store_purchases_by_account ON store_purchases (account_id);
CREATE INDEX store_transactions_by_original ON store_transactions (environment, original_id);
CREATE INDEX audit_by_actor ON audit (actor, at, id);
CREATE INDEX audit_by_subject ON audit (subject, at) WHERE action <> 'edition.credentials';
CREATE INDEX audit_unsealed ON audit (at, id) WHERE number IS NULL;
CREATE INDEX upstream_tokens_by_subject ON upstream_tokens (subject);
CREATE INDEX audit_pages_by_time ON audit_pages (at, id, first_at);
CREATE UNIQUE INDEX subscriptions_by_number ON subscriptions (account_id, number);
CREATE UNIQUE INDEX purchases_by_number ON purchases (account_id, number);
CREATE INDEX editions_by_search_version ON editions (search_version);
CREATE UNIQUE INDEX editions_by_search_id ON editions (search_id);
CREATE INDEX throttle_by_kind ON throttle (kind, expires_at);
CREATE INDEX throttle_by_account ON throttle (account_hash);
CREATE INDEX throttle_by_network ON throttle (network_hash);
CREATE INDEX titles_by_content ON titles (content_hash);
CREATE INDEX editions_by_search_delay ON editions (title_id) WHERE search_at <> updated_at;
CREATE INDEX players_by_account ON players (account_id, created_at);
CREATE INDEX players_by_created ON players (created_at, id);
CREATE INDEX players_by_revocation ON players (revoked_at);
CREATE INDEX players_by_suspension ON players (suspended_at);
CREATE INDEX players_by_device ON players (device_id);
CREATE INDEX players_by_end ON players (expires_at);
CREATE INDEX player_certificates_by_player ON player_certificates (player_id, valid_until);
CREATE INDEX player_certificates_by_end ON player_certificates (valid_until);
CREATE INDEX player_nonces_by_end ON player_nonces (expires_at);
CREATE INDEX licenses_by_player ON licenses (player_id, issued_at);
CREATE INDEX licenses_by_issue ON licenses (issued_at, id);
CREATE INDEX licenses_by_lease ON licenses (subject, lease_until);
CREATE INDEX redemptions_by_end ON redemptions (expires_at);
CREATE INDEX redemptions_by_time ON redemptions (redeemed_at, token_id);
CREATE INDEX link_codes_by_end ON link_codes (expires_at);
CREATE INDEX link_codes_by_player ON link_codes (player_id);
CREATE INDEX redemptions_by_player ON redemptions (player_id, redeemed_at);
CREATE INDEX link_codes_by_network ON link_codes (network, expires_at);
CREATE INDEX revoked_rights_by_end ON revoked_rights (until);
CREATE INDEX revoked_rights_by_time ON revoked_rights (revoked_at, kind, id);
CREATE INDEX redemptions_by_license ON redemptions (license_id);
CREATE INDEX link_codes_by_site ON link_codes (site, expires_at);
CREATE INDEX revoked_rights_by_rank ON revoked_rights (by_staff, revoked_at, kind, id);
CREATE INDEX revoked_rights_by_suspension ON revoked_rights (suspended_for);
CREATE INDEX guests_by_site ON guests (site, created_at, player_id);
CREATE INDEX guests_by_end ON guests (expires_at, site);
CREATE INDEX licenses_by_end ON licenses (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX licenses_by_until ON licenses (until) WHERE until IS NOT NULL;
CREATE INDEX licenses_by_lease_end ON licenses (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX licenses_by_token ON licenses (token_id, lease_until) WHERE token_id IS NOT NULL;
CREATE INDEX licenses_by_order ON licenses (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX redemptions_by_cookie ON redemptions (cookie, redeemed_at) WHERE cookie IS NOT NULL;
CREATE INDEX redemptions_by_issuer ON redemptions (issuer, redeemed_at, token_id) WHERE issuer IS NOT NULL;
PRAGMA writable_schema=OFF;
COMMIT;
